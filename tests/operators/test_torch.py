import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from daguerreotype import operators  # noqa: E402
from daguerreotype.operators import torch as layers  # noqa: E402
from support.waiting import HANG  # noqa: E402

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
@pytest.mark.parametrize("shape", [(1,), (5,), (3, 6), (1, 4)])
def test_gradcheck_in_double_precision(name, shape):
    layer, _ = LAYERS[name]
    assert torch.autograd.gradcheck(lambda theta: layer(theta)[0], scores(*shape), atol=1e-5)


@every_layer
def test_a_vector_gives_what_the_numpy_operator_gives(name):
    layer, operator = LAYERS[name]
    theta = scores(7)
    probs, ranks = layer(theta)
    expected = operator(theta.detach().numpy())
    np.testing.assert_array_equal(probs.detach().numpy(), expected.probs)
    np.testing.assert_array_equal(ranks.numpy(), expected.ranks)


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


@every_layer
def test_gradients_of_a_batch_are_those_of_its_rows(name):
    layer, _ = LAYERS[name]
    batch = scores(4, 5)
    (layer(batch)[0] ** 2).sum().backward()
    for row in range(4):
        single = batch[row].detach().clone().requires_grad_()
        (layer(single)[0] ** 2).sum().backward()
        torch.testing.assert_close(batch.grad[row], single.grad)


BATCHED = {
    "sparsemax": lambda theta, n_jobs: layers.top_k_sparsemax(theta, 20, n_jobs=n_jobs)[0],
    "active-set": lambda theta, n_jobs: layers.sparsemap(theta, n_jobs=n_jobs)[0],
    "peel": lambda theta, n_jobs: layers.sparsemap(theta, method="peel", n_jobs=n_jobs)[0],
    "projection": lambda theta, n_jobs: layers.project_permutahedron(theta, n_jobs=n_jobs),
}


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_any_number_of_threads_gives_the_same_batch_and_gradients(name, size):
    results = []
    for n_jobs in (1, 2, 3, 10):
        theta = scores(size, 6)
        found = BATCHED[name](theta, n_jobs)
        (found**2).sum().backward()
        results.append((found.detach(), theta.grad))
    for found, gradient in results[1:]:
        assert torch.equal(found, results[0][0])
        assert torch.equal(gradient, results[0][1])


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (2, 2), (5, 5), (10, 7)])
def test_a_batch_takes_as_many_threads_as_jobs_and_no_more_than_rows(n_jobs, expected, monkeypatch):
    seen = set()
    meeting = threading.Barrier(expected)  # breaks unless as many threads come

    def meet(theta, **_):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            meeting.wait(HANG)
        return operators.top_k_sparsemax(theta)

    monkeypatch.setattr(layers, "numpy_top_k_sparsemax", meet)
    layers.top_k_sparsemax(scores(7, 4), n_jobs=n_jobs)
    assert len(seen) == expected


def test_a_batch_within_a_worker_of_joblib_stays_in_its_thread(monkeypatch):
    monkeypatch.setattr(layers, "_threads", None)  # no pool to be had
    theta = scores(4, 5).detach()
    found = joblib.Parallel(2, backend="threading")(
        joblib.delayed(layers.project_permutahedron)(theta) for _ in range(2)
    )
    assert torch.equal(found[0], found[1])


@every_layer
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_probabilities_and_gradients_keep_the_float_type(name, dtype):
    layer, _ = LAYERS[name]
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


@pytest.mark.parametrize("shape", [(6,), (3, 6)])
def test_the_projection_passes_gradcheck_and_equals_numpy(shape):
    theta = scores(*shape, scale=3.0)
    assert torch.autograd.gradcheck(layers.project_permutahedron, theta)
    expected = [operators.project_permutahedron(row) for row in theta.detach().numpy().reshape(-1, 6)]
    np.testing.assert_array_equal(layers.project_permutahedron(theta).detach().numpy().reshape(-1, 6), expected)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        (torch.zeros(2, dtype=torch.int64), "tensor of floats, got torch.int64"),
        ([0.0, 1.0], "tensor of floats, got list"),
        (torch.zeros(2, 2, 2), r"shape \(d,\) or \(b, d\), got \(2, 2, 2\)"),
        (torch.zeros(0, 3), "empty batch"),
        (torch.tensor([0.0, float("nan")]), "finite"),
    ],
)
def test_bad_tensors_are_refused(theta, message):
    with pytest.raises(ValueError, match=message):
        layers.top_k_sparsemax(theta)


def test_without_torch_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try: import daguerreotype.operators.torch\n"
        "except ImportError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'daguerreotype[torch]'" in output
