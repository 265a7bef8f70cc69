"""Binary gates, and the noise that draws them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from daguerreotype.edges.gradient.descent import BernoulliGates, seed_of, uniforms  # noqa: E402

GATES = BernoulliGates()
PROBABILITIES = torch.linspace(0.0, 1.0, 8, dtype=torch.float64)  # none of them one half


def test_gates_are_binary_and_as_often_open_as_their_penalty_says():
    noise = torch.linspace(0.0, 1.0 - 2.0**-24, 20_001, dtype=torch.float64)
    for probability in PROBABILITIES:
        drawn, slope = GATES.draw(torch.full_like(noise, float(probability)), noise)
        assert set(drawn.tolist()) <= {0.0, 1.0}
        assert float(GATES.expected_open(probability)) == pytest.approx(float(drawn.mean()), abs=1e-3)
        assert (slope == 1).all()  # straight through
        assert float(GATES.most_probable(probability)) == float(drawn.mean() > 0.5)
    assert GATES.open_slope(PROBABILITIES).tolist() == [1.0] * 8


def test_training_starts_undecided_and_stays_within_zero_and_one():
    assert GATES.start((3, 2), "cpu", torch.float64).tolist() == [[0.5, 0.5]] * 3
    parameters = torch.tensor([-0.5, 0.2, 1.7])
    GATES.keep_valid(parameters)
    assert parameters.tolist() == pytest.approx([0.0, 0.2, 1.0])


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


def test_noise_is_that_of_the_request_wherever_it_stands_and_below_one_in_single_precision():
    seeds = torch.tensor([11, 2**32 - 1, 5])
    whole = uniforms(seeds, range(40), 6, torch.float32)
    part = uniforms(seeds[1:2], range(30, 40), 6, torch.float32)
    torch.testing.assert_close(part, whole[30:, 1:2], rtol=0, atol=0)
    assert float(uniforms(torch.arange(2000), range(20), 50, torch.float32).max()) < 1.0
    requests = [(s, j, np.flatnonzero([m & 1, m & 2, m & 4])) for s in (0, 1) for j in (3, 4) for m in range(8)]
    assert len({seed_of(*request) for request in requests}) == len(requests)
