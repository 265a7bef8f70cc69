import subprocess
import sys

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from daguerreotype import operators  # noqa: E402
from daguerreotype.operators import torch as layers  # noqa: E402

LAYERS = {
    "sparsemax": (
        lambda theta: layers.top_k_sparsemax(theta, 20),
        lambda x: operators.top_k_sparsemax(x, 20),
    ),
    "active-set": (lambda theta: layers.sparsemap(theta, 300), lambda x: operators.sparsemap(x, 300)),
    "peel": (
        lambda theta: layers.sparsemap(theta, method="peel"),
        lambda x: operators.sparsemap(x, method="peel"),
    ),
}
every_layer = pytest.mark.parametrize("name", LAYERS)


def scores(*shape, scale=0.5, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    theta = scale * torch.randn(*shape, generator=generator, dtype=torch.float64)
    return theta.to(dtype).requires_grad_()


@every_layer
def test_gradcheck_in_double_precision(name):
    layer, _ = LAYERS[name]
    for shape in [(1,), (5,), (3, 6)]:
        assert torch.autograd.gradcheck(lambda theta: layer(theta)[0], scores(*shape), atol=1e-5)


@every_layer
def test_a_batch_holds_each_row_padded_with_rankings_of_probability_zero(name):
    layer, operator = LAYERS[name]
    theta = scores(40, 6) * torch.logspace(-2, 1.5, 40, dtype=torch.float64)[:, None]
    probs, ranks = layer(theta)
    sizes = set()
    for row in range(40):
        expected = operator(theta[row].detach().numpy())
        size = len(expected)
        sizes.add(size)
        np.testing.assert_array_equal(probs[row, :size].detach().numpy(), expected.probs)
        np.testing.assert_array_equal(ranks[row, :size].numpy(), expected.ranks)
        assert (probs[row, size:] == 0).all()
        assert (ranks[row].sort(dim=1).values == torch.arange(6)).all()
    assert len(sizes) > 1, "the batch should need padding"


def test_any_number_of_threads_gives_the_same_batch_and_gradients(monkeypatch):
    batched = [lambda theta, layer=layer: layer(theta)[0] for layer, _ in LAYERS.values()]
    for layer in [*batched, layers.project_permutahedron]:
        results = []
        for n_jobs in (1, 2, 10):
            monkeypatch.setattr(layers, "count_jobs", lambda _, n_jobs=n_jobs: n_jobs)
            theta = scores(7, 6)
            output = layer(theta)
            (output**2).sum().backward()
            results.append((output.detach(), theta.grad))
        for output, gradient in results[1:]:
            assert torch.equal(output, results[0][0])
            assert torch.equal(gradient, results[0][1])


def test_a_batch_within_a_worker_of_joblib_stays_in_its_thread(monkeypatch):
    monkeypatch.setattr(layers, "_threads", None)  # no pool to be had
    theta = scores(4, 5).detach()
    projected = joblib.Parallel(2, backend="threading")(
        joblib.delayed(layers.project_permutahedron)(theta) for _ in range(2)
    )
    assert torch.equal(*projected)


@every_layer
def test_probabilities_and_gradients_keep_the_float_type(name):
    layer, _ = LAYERS[name]
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        theta = scores(5, dtype=dtype)
        probs, ranks = layer(theta)
        probs[0].backward()
        assert probs.dtype == theta.grad.dtype == dtype
        assert ranks.dtype == torch.int64
        assert not ranks.requires_grad


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_layer
def test_results_are_on_the_device_of_the_scores(name):
    layer, _ = LAYERS[name]
    theta = scores(3, 5).detach().cuda().requires_grad_()
    probs, ranks = layer(theta)
    probs.sum().backward()
    assert probs.is_cuda
    assert ranks.is_cuda
    assert theta.grad.is_cuda


def test_the_projection_passes_gradcheck_and_equals_numpy():
    theta = scores(3, 6, scale=3.0)
    assert torch.autograd.gradcheck(layers.project_permutahedron, theta)
    expected = [operators.project_permutahedron(row) for row in theta.detach().numpy().reshape(-1, 6)]
    np.testing.assert_array_equal(layers.project_permutahedron(theta).detach().numpy().reshape(-1, 6), expected)


def test_without_torch_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try: import daguerreotype.operators.torch\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'daguerreotype[torch]'" in output


def test_bad_tensors_are_refused():
    cases = [
        (torch.zeros(2, dtype=torch.int64), "tensor of floats, got torch.int64"),
        ([0.0, 1.0], "tensor of floats, got list"),
        (torch.zeros(2, 2, 2), r"shape \(d,\) or \(b, d\), got \(2, 2, 2\)"),
        (torch.zeros(0, 3), "empty batch"),
        (torch.tensor([0.0, float("nan")]), "finite"),
    ]
    for theta, message in cases:
        with pytest.raises(ValueError, match=message):
            layers.top_k_sparsemax(theta)
