import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from daguerreotype.edges.gradient.descent import BernoulliGates, HardConcreteGates, make_gates, seed_of, uniforms  # noqa: E402  # noqa: E402

KINDS = {"bernoulli": BernoulliGates(), "hard-concrete": HardConcreteGates()}
NOISE = torch.linspace(0.0, 1.0 - 2.0**-24, 20_001, dtype=torch.float64)


@pytest.fixture(params=KINDS)
def gates(request):
    return KINDS[request.param]


def parameters_of(gates, count=7):
    """From surely closed to surely open."""
    low, high = (0.0, 1.0) if isinstance(gates, BernoulliGates) else (-4.0, 4.0)
    return torch.linspace(low, high, count, dtype=torch.float64)


def drawn_from_all_noise(gates, parameter):
    return gates.draw(torch.full_like(NOISE, float(parameter)), NOISE)[0]


# ---------------------------------------------------------------------------- distributions


def test_the_expected_share_of_open_gates_is_the_share_of_samples_above_zero(gates):
    for parameter in parameters_of(gates):
        share = (drawn_from_all_noise(gates, parameter) > 0).double().mean()
        assert float(gates.expected_open(parameter)) == pytest.approx(float(share), abs=1e-3)


def test_samples_of_a_generator_are_draws_from_its_noise(gates):
    parameters = parameters_of(gates, 500)
    sampled = gates.sample(parameters, torch.Generator().manual_seed(3))
    noise = torch.rand(500, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    torch.testing.assert_close(sampled, gates.draw(parameters, noise)[0])


@given(noise=st.floats(0, 1 - 2**-24), at=st.integers(0, 6), kind=st.sampled_from(sorted(KINDS)))
def test_a_gate_is_between_zero_and_one_for_any_noise(noise, at, kind):
    gate, slope = KINDS[kind].draw(parameters_of(KINDS[kind])[at], torch.tensor(noise, dtype=torch.float64))
    assert 0 <= float(gate) <= 1
    assert np.isfinite(float(slope))
    assert float(slope) >= 0


def test_bernoulli_gates_are_binary_and_certain_at_the_ends():
    gates = BernoulliGates()
    for probability, expected in ((0.0, {0.0}), (0.3, {0.0, 1.0}), (1.0, {1.0})):
        assert set(drawn_from_all_noise(gates, probability).tolist()) == expected


def test_hard_concrete_gates_are_exactly_closed_or_open_with_positive_probability_and_between_otherwise():
    drawn = drawn_from_all_noise(HardConcreteGates(), 0.0)
    for share in (
        (drawn == 0).double().mean(),
        (drawn == 1).double().mean(),
        ((drawn > 0) & (drawn < 1)).double().mean(),
    ):
        assert 0.1 < float(share) < 0.9


# ---------------------------------------------------------------------------- derivatives


def test_the_slope_of_a_draw_is_the_derivative_that_sampling_hands_to_autograd(gates):
    parameters = parameters_of(gates, 500).requires_grad_()
    gates.sample(parameters, torch.Generator().manual_seed(1)).sum().backward()
    noise = torch.rand(500, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    _, slope = gates.draw(parameters.detach(), noise)
    torch.testing.assert_close(slope, parameters.grad)


def test_the_slope_of_the_price_is_the_derivative_of_expected_open_gates(gates):
    parameters = parameters_of(gates).requires_grad_()
    gates.expected_open(parameters).sum().backward()
    torch.testing.assert_close(gates.open_slope(parameters.detach()), parameters.grad)


# ---------------------------------------------------------------------------- start and end


def test_training_starts_undecided(gates):
    start = gates.start((3, 2), "cpu", torch.float64)
    assert start.shape == (3, 2)
    assert float(drawn_from_all_noise(gates, start[0, 0]).mean()) == pytest.approx(0.5, abs=1e-3)


def test_the_most_probable_gates_are_binary_and_open_where_gates_are_open_on_average(gates):
    parameters = parameters_of(gates, 8)  # none of them undecided
    expected = [float(drawn_from_all_noise(gates, parameter).mean() > 0.5) for parameter in parameters]
    assert gates.most_probable(parameters).tolist() == expected


def test_probabilities_are_clamped_and_locations_left_alone():
    for gates, expected in ((BernoulliGates(), [0.0, 0.2, 1.0]), (HardConcreteGates(), [-0.5, 0.2, 1.7])):
        parameters = torch.tensor([-0.5, 0.2, 1.7])
        gates.keep_valid(parameters)
        assert parameters.tolist() == pytest.approx(expected)


def test_names_stand_for_gates_and_others_are_refused():
    assert {name: make_gates(name) for name in KINDS} == KINDS
    with pytest.raises(ValueError, match="gates must be 'bernoulli' or 'hard-concrete', got 'open'"):
        make_gates("open")


# ---------------------------------------------------------------------------- noise


def test_noise_is_uniform_and_uncorrelated_between_steps_columns_and_requests():
    seeds = torch.tensor([seed_of(0, 1, np.arange(b)) for b in range(20)])
    noise = uniforms(seeds, range(200), 30, torch.float64).numpy()  # (steps, B, columns)
    assert noise.shape == (200, 20, 30)
    counts, _ = np.histogram(noise, bins=16, range=(0, 1))
    expected = noise.size / 16
    assert ((counts - expected) ** 2 / expected).sum() < 45  # chi-squared of 15 degrees: 1 in 10,000
    centred = noise - noise.mean()
    for axis in range(3):
        for lag in (1, 2, 7):
            product = centred * np.roll(centred, lag, axis=axis)
            assert abs(product.mean() / centred.var()) < 5 / np.sqrt(noise.size)


def test_noise_of_a_request_depends_neither_on_its_batch_nor_on_where_a_run_of_steps_begins():
    seeds = torch.tensor([11, 2**32 - 1, 5])
    whole = uniforms(seeds, range(40), 6, torch.float32)
    torch.testing.assert_close(
        uniforms(seeds[1:2], range(30, 40), 6, torch.float32), whole[30:, 1:2], rtol=0, atol=0
    )


def test_noise_never_reaches_one_in_single_precision():
    seeds = torch.arange(2000)
    assert float(uniforms(seeds, range(20), 50, torch.float32).max()) < 1.0


def test_requests_have_seeds_of_their_own():
    requests = [(s, j, np.flatnonzero([m & 1, m & 2, m & 4])) for s in (0, 1) for j in (3, 4) for m in range(8)]
    assert len({seed_of(*request) for request in requests}) == len(requests)
