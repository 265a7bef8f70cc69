"""What every noise model promises: likelihoods of residuals, and a density that unseen rows have too."""

import numpy as np
import pytest
from scipy import integrate

from daguerreotype.noise import NOISE, Density, FreeShape, Gaussian, NoiseModel, make_noise
from daguerreotype.noise.free_shape import CHANCE
from support.noises import NOISES

CONTINUOUS = {name: entry.make() for name, entry in NOISE.items() if "continuous" in entry.kinds}
MODELS = CONTINUOUS | {"beyond chance": FreeShape(CHANCE)}
# What each family holds, or comes near.
FITTING = {"gaussian": ["normal"], "free-shape": list(NOISES), "beyond chance": list(NOISES)}
models = pytest.mark.parametrize("model", MODELS)
noises = pytest.mark.parametrize("noise", NOISES)


def draw(noise, n, rng):
    return NOISES[noise].rvs(n, random_state=rng)


@models
def test_a_model_is_made_by_its_name_or_is_itself(model):
    assert isinstance(MODELS[model], NoiseModel)
    assert make_noise(MODELS[model]) is MODELS[model]
    if model in NOISE:
        assert make_noise(model) == MODELS[model]


@pytest.mark.parametrize("noise", ["cauchy", 3, Gaussian, None])
def test_what_is_no_noise_model_is_refused_with_what_there_is(noise):
    message = r"noise must be 'auto', one of 'gaussian', 'free-shape', .*or an object with needs_residuals.*got "
    with pytest.raises(ValueError, match=message):
        make_noise(noise)


# ---------------------------------------------------------------------------- likelihoods


@pytest.mark.parametrize(("model", "noise"), [(model, noise) for model in FITTING for noise in FITTING[model]])
def test_the_likelihood_of_a_sample_is_that_of_an_independent_one_under_the_density(model, noise, rng):
    sample, unseen = draw(noise, 5_000, rng), draw(noise, 200_000, rng)
    held_out = -MODELS[model].fit(sample).log_density(unseen).mean()
    assert MODELS[model].nll(sample) == pytest.approx(held_out, abs=0.06)


@models
@noises
def test_a_density_integrates_to_one_and_none_is_likelier_than_the_true_one(model, noise, rng):
    sample, unseen = draw(noise, 1_000, rng), draw(noise, 200_000, rng)
    density = MODELS[model].fit(sample)
    assert isinstance(density, Density)
    gap = NOISES[noise].logpdf(unseen) - density.log_density(unseen)
    assert gap.mean() > -4 * gap.std() / np.sqrt(gap.size)
    grid = np.linspace(-60.0, 60.0, 2_400_001)  # histograms jump, so that many points are needed
    assert integrate.trapezoid(np.exp(density.log_density(grid)), grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential"])
def test_free_shape_gives_unseen_rows_of_noise_that_is_not_gaussian_more_than_gaussian_does(noise, rng):
    sample, unseen = draw(noise, 1_000, rng), draw(noise, 50_000, rng)
    free, gaussian = (model.fit(sample).log_density(unseen).mean() for model in (FreeShape(), Gaussian()))
    assert free > gaussian + 0.01


# ---------------------------------------------------------------------------- invariances


@models
@noises
def test_scaled_mirrored_and_shuffled_residuals_have_the_density_that_this_asks_for(model, noise, rng):
    sample, points = draw(noise, 500, rng), draw(noise, 500, rng)
    nll, density = MODELS[model].nll(sample), MODELS[model].fit(sample).log_density(points)
    for scale in (1e-3, 40.0, -1.0, 1.0):
        changed = rng.permutation(scale * sample)
        assert MODELS[model].nll(changed) == pytest.approx(nll + np.log(abs(scale)), abs=1e-9)
        gap = MODELS[model].fit(changed).log_density(scale * points) + np.log(abs(scale)) - density
        assert np.mean(np.abs(gap) > 1e-9) < 0.01  # a point on the border of two bins may fall into either


# ---------------------------------------------------------------------------- ties


def degenerate(rng):
    """Residuals with ties, up to those that are all the same."""
    yield np.repeat([-1.0, 1.0], 50)
    yield np.round(rng.normal(size=200))
    yield np.append(np.zeros(99), 1.0)
    yield np.full(100, 0.1)  # whose mean is not exactly 0.1
    yield np.zeros(100)
    yield np.zeros(1)
    yield from (rng.normal(size=n) for n in (2, 3, 4))


@models
def test_residuals_with_ties_have_finite_likelihoods_and_densities(model, rng):
    for residuals in degenerate(rng):
        with np.errstate(all="raise", under="ignore"):
            nll = MODELS[model].nll(residuals)
            density = MODELS[model].fit(residuals).log_density(np.append(residuals, [-3.0, 0.0, 1e3]))
        assert np.isfinite(nll)
        assert np.isfinite(density).all()
