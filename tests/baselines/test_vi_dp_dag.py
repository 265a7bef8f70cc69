"""VI-DP-DAG: every sample is a DAG, the regularizer is the paper's, and small nonlinear problems are recovered."""

import numpy as np
import pytest

from daguerreotype.graphs import find_cycle
from daguerreotype.metrics import f1
from daguerreotype.simulate import simulate_dag, simulate_data

torch = pytest.importorskip("torch")

from daguerreotype.baselines.vi_dp_dag import (  # noqa: E402
    MaskedAutoencoder,
    SinkhornLaw,
    SoftSortLaw,
    VIDPDAGSinkhorn,
    VIDPDAGSoftSort,
    edge_divergence,
    edge_reward,
    mode_dag,
    sample_dag,
    train,
)

LAWS = [SoftSortLaw, SinkhornLaw]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def normal_like(tensor, seed=1):
    return torch.randn(tensor.shape, generator=seeded(seed))


def small_problem(seed=0, d=5):
    dag = simulate_dag(d, d, "ER", random_state=seed)
    return dag, simulate_data(dag, 1000, mechanism="gp-add", random_state=seed).X


@pytest.mark.parametrize("law_class", LAWS)
def test_every_sampled_dag_is_binary_acyclic_and_has_gradients_in_order_and_edges(law_class):
    law, generator = law_class(6, 1.0), seeded()
    logits = torch.randn(6, 6, generator=generator).requires_grad_()
    for _ in range(20):
        dag = sample_dag(law.sample(generator), logits, generator)
        assert set(dag.detach().unique().tolist()) <= {0.0, 1.0}
        assert find_cycle(dag.detach().numpy() != 0) is None
    slopes = torch.autograd.grad((dag * normal_like(dag)).sum(), [law.scores, logits])
    assert all(torch.isfinite(slope).all() and slope.abs().max() > 0 for slope in slopes)


@pytest.mark.parametrize("law_class", LAWS)
def test_the_mode_is_the_order_that_is_drawn_most(law_class):
    law = law_class(3, 1.0)
    wanted = torch.tensor([2, 0, 1])
    with torch.no_grad():
        if law_class is SoftSortLaw:
            law.scores[wanted] = torch.tensor([4.0, 2.0, 0.0])
        else:
            law.scores.fill_(-3.0)
            law.scores[torch.arange(3), wanted] = 3.0
        drawn = torch.stack([law.sample(seeded(seed)).argmax(dim=1) for seed in range(200)])
    orders, counts = torch.unique(drawn, dim=0, return_counts=True)
    assert orders[counts.argmax()].tolist() == law.mode().tolist() == [2, 0, 1]


def test_the_mode_keeps_likely_edges_that_the_order_allows():
    logits = torch.tensor([[9.0, 1.0, -1.0], [1.0, 9.0, 2.0], [0.5, 3.0, 9.0]])
    np.testing.assert_array_equal(mode_dag(torch.tensor([2, 0, 1]), logits), [[0, 1, 0], [0, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize("prior", [0.01, 0.3])
def test_the_divergence_is_the_mean_kl_between_bernoullis_off_the_diagonal(prior):
    logits = (3 * normal_like(torch.zeros(5, 5))).double().requires_grad_()
    q, p = torch.distributions.Bernoulli(logits=logits), torch.distributions.Bernoulli(prior)
    cells = torch.distributions.kl_divergence(q, p)[~torch.eye(5, dtype=torch.bool)]
    torch.testing.assert_close(edge_divergence(logits, prior), cells.mean())
    assert torch.autograd.gradcheck(lambda x: edge_divergence(x, prior), logits)


def test_the_divergence_pushes_likely_edges_down_and_the_released_term_pushes_all_up():
    logits = torch.rand(4, 4, generator=seeded()).requires_grad_()
    off = ~torch.eye(4, dtype=torch.bool)
    (paper,), (released,) = (
        torch.autograd.grad(term(logits, 0.01), logits) for term in (edge_divergence, edge_reward)
    )
    assert (paper[off] > 0).all()
    torch.testing.assert_close(released[off], torch.full((12,), -0.01 / 12))
    assert (released[~off] == 0).all()


def test_the_networks_of_all_nodes_agree_with_one_network_at_a_time():
    networks = MaskedAutoencoder(4, (7, 3), seeded())
    rows, dag = normal_like(torch.zeros(9, 4)), torch.ones(4, 4).triu(1)
    predicted = networks.predict(rows, dag)
    for node in range(4):
        units = rows * dag[:, node]
        for layer, (weight, bias) in enumerate(zip(networks.weights, networks.biases, strict=True)):
            units = (torch.relu(units) if layer else units) @ weight[node] + bias[node]
        torch.testing.assert_close(predicted[:, node], units[:, 0])


@pytest.mark.parametrize("method", [VIDPDAGSoftSort, VIDPDAGSinkhorn])
def test_small_raw_nonlinear_problems_of_equal_noise_are_recovered_in_part(method):
    scores = []
    for seed in range(2):
        dag, X = small_problem(seed)
        scores.append(f1(dag, method(standardize=False, max_epochs=60).fit(X).adjacency_matrix_))
    assert np.mean(scores) > 0.5  # four edges at random would give 0.2


def test_training_stops_when_looks_bring_nothing_better_and_keeps_the_best(rng):
    settings = VIDPDAGSoftSort(max_epochs=200, patience=3, learning_rate=0.05)
    trained = train(settings, settings.law(3, 1.0), rng.normal(size=(60, 3)), np.random.default_rng(0))
    assert len(trained.losses) == int(np.argmin(trained.losses)) + 1 + 3 < 100
    assert (
        len(train(settings.set_params(max_epochs=5), settings.law(3, 1.0), rng.normal(size=(60, 3)), rng).losses)
        == 3
    )


def test_settings_out_of_range_and_columns_beyond_single_precision_are_refused(rng):
    X = rng.normal(size=(20, 3))
    cases = [
        ({"regularizer": "l1"}, X, "regularizer must be 'kl' or 'released', got 'l1'"),
        ({"prior": 1.0}, X, r"prior must lie between 0 and 1, got 1\.0"),
        ({"validation_fraction": 0}, X, "validation_fraction must lie between 0 and 1, got 0"),
        ({"hidden": (16, 0)}, X, "hidden must be at least 1, got 0"),
        ({"standardize": False}, 1e25 * X, r"the validation loss became .* in pass 0: .* Set standardize=True"),
    ]
    for settings, table, message in cases:
        with pytest.raises(ValueError, match=message):
            VIDPDAGSoftSort(**settings).fit(table)
