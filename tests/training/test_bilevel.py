import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from daguerreotype.edges import LarsEdges
from daguerreotype.edges.base import LocalModels
from daguerreotype.operators import Sparsemax, sparsemap, top_k_sparsemax
from daguerreotype.training import Bilevel, Joint
from daguerreotype.training.bilevel import Adam, ApproximateConvergence, Descent, train_bilevel
from daguerreotype.training.constraints import FREE
from daguerreotype.training.objective import make_objective
from daguerreotype.training.run import Run
from daguerreotype.training.scores import OrderScores
from support.fits import brief, direct_loss, linear_data, shown, standard_table

N, D = 100, 5
OBJECTIVE = make_objective("nll_ev", 1.0)
OPERATORS = {
    "sparsemax": lambda theta, tau: top_k_sparsemax(theta, 30, tau=tau),
    "sparsemap": lambda theta, tau: sparsemap(theta, 30, tau=tau),
}


def train(operator="sparsemax", theta=None, models=None, seed=0, run=None, descent=None, tau=1.0, **changes):
    models = models or LarsEdges().prepare(standard_table(linear_data(seed, N, D)))
    scores = OrderScores(models, OBJECTIVE, n_rows=N, d=D, run=run or Run())
    numbers = brief(**({"learning_rate": 0.05, "max_iter": 60, "patience": 50} | changes))
    if descent is None:
        descent = Descent.begin(np.zeros(D) if theta is None else theta, FREE)
    train_bilevel(descent, OPERATORS.get(operator, operator), scores, numbers, tau=tau)
    return descent


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_objective_is_the_expected_loss_plus_the_squared_norm_of_theta(operator, rng):
    theta = rng.normal(size=D)
    step = train(operator, theta, max_iter=1, l2=0.3, tau=2.0).steps[0]
    distribution = OPERATORS[operator](theta, 2.0)
    models = LarsEdges().prepare(standard_table(linear_data(0, N, D)))
    losses = np.array([direct_loss(models, OBJECTIVE, order, N) for order in distribution.orders])
    assert step.objective == pytest.approx(distribution.probs @ losses + 0.3 * theta @ theta)
    assert step.mode_loss == pytest.approx(losses[np.argmax(distribution.probs)])
    assert step.support == len(distribution)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_first_step_goes_down_the_gradient_of_the_objective(operator, rng):
    theta = rng.normal(size=D)

    def objective(at):
        return train(operator, at, max_iter=1, l2=0.01).steps[0].objective

    shifts = 1e-6 * np.eye(D)
    gradient = np.array([(objective(theta + e) - objective(theta - e)) / 2e-6 for e in shifts])
    # Adam's first step has the length of the rate in every coordinate.
    moved = train(operator, theta, max_iter=1, l2=0.01, learning_rate=0.05).theta - theta
    np.testing.assert_allclose(moved, -0.05 * np.sign(gradient), rtol=1e-4)


def test_adam_steps_like_that_of_torch(rng):
    torch = pytest.importorskip("torch")
    ours, adam = rng.normal(size=4), Adam(4, 0.07)
    theirs = torch.tensor(ours, requires_grad=True)
    optimizer = torch.optim.Adam([theirs], lr=0.07)
    for _ in range(25):
        gradient = rng.normal(size=4)
        ours = adam.step(ours, gradient)
        theirs.grad = torch.tensor(gradient)
        optimizer.step()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_order_loses_least_of_all_modes_and_no_more_than_the_start(operator, seed):
    theta = np.random.default_rng(seed).normal(size=D)
    state = train(operator, theta, seed=seed)
    models = LarsEdges().prepare(standard_table(linear_data(seed, N, D)))
    assert state.best_loss == pytest.approx(min(step.mode_loss for step in state.steps))
    assert state.best_loss == pytest.approx(direct_loss(models, OBJECTIVE, state.best_order, N))
    assert state.best_loss <= direct_loss(models, OBJECTIVE, np.argsort(theta), N) + 1e-12
    np.testing.assert_array_equal(OPERATORS[operator](state.best_theta, 1.0).mode, state.best_order)


def test_a_learner_takes_the_temperature_of_its_operator_from_the_first_step_to_the_last():
    pytest.importorskip("torch")
    steps = {"max_iter": 5, "start": [0.3, -0.1, 0.2, 0.5, 0.0]}
    for tau in (0.2, 20.0):
        for edges, training in (("bic", Bilevel(refine=False, loss="bic", **steps)), ("linear", Joint(**steps))):
            operator = Sparsemax(30, tau=tau)
            learner = Daguerreotype(edges, operator=operator, training=training, scales="none", posterior=0)
            learner.fit(linear_data(1, 80, 5))
            for theta, support in zip(learner.history_.theta, learner.history_.support, strict=True):
                assert support == len(operator(theta, tau))
            probs = operator(learner.theta_, tau).probs
            np.testing.assert_allclose(np.sort(learner.order_distribution_.probs), np.sort(probs), atol=1e-12)


def test_max_iter_bounds_the_steps_and_patience_ends_them_earlier():
    assert len(train(max_iter=7).steps) == 7
    assert len(train(max_iter=500, tol=0.5, patience=4).steps) == 5


def test_progress_hears_every_step():
    heard = []
    steps = train(max_iter=9, run=Run(show=lambda *told: heard.append(told), name="log")).steps
    assert len(steps) == 9
    assert heard == [("log", shown(step)) for step in steps]
    assert [step.hits + step.misses for step in steps] == sorted(step.hits + step.misses for step in steps)


def test_a_cancellation_from_elsewhere_ends_training_like_ctrl_c():
    heard, run = [], Run(show=lambda _, seen: heard.append(seen) or (len(heard) == 4 and run.cancel.cancel()))
    state, whole = Descent.begin(np.zeros(D), FREE), train()
    with pytest.raises(KeyboardInterrupt):
        train(run=run, descent=state)
    assert state.steps == whole.steps[:4]


def test_a_phase_after_others_has_the_steps_that_they_left_and_at_least_one(rng):
    models = LarsEdges().prepare(standard_table(linear_data(0, N, D)))
    for n_before, expected in ((4, 3), (7, 1)):
        scores = OrderScores(models, OBJECTIVE, n_rows=N, d=D)
        state = Descent.begin(rng.normal(size=D), FREE)
        train_bilevel(state, OPERATORS["sparsemax"], scores, brief(max_iter=7), tau=1.0, n_before=n_before)
        assert len(state.steps) == expected


class Interrupted(LocalModels):
    """LARS models, during whose fit number ``at`` somebody presses Ctrl-C."""

    def __init__(self, at):
        self.models, self.left = LarsEdges().prepare(standard_table(linear_data(0, N, D))), at

    def fit(self, node, predecessors):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.models.fit(node, predecessors)


def few(theta, tau):
    return top_k_sparsemax(theta, 4, tau=tau)  # few rankings, so that new fits keep coming


@pytest.mark.parametrize("at", [1, 16, 22])
def test_ctrl_c_leaves_the_best_order_so_far(at):
    whole, state = train(few), Descent.begin(np.zeros(D), FREE)
    with pytest.raises(KeyboardInterrupt):
        train(few, models=Interrupted(at), descent=state)
    done = len(state.steps)
    assert done < len(whole.steps)
    assert state.steps == whole.steps[:done]
    assert state.best_loss == min((step.mode_loss for step in state.steps), default=np.inf)
    assert sorted(state.best_order) == list(range(D))


# ---------------------------------------------------------------------------- when it stops


def stops_at(objectives, tolerance, patience):
    """How many objectives are taken in before training stops; None if it goes on."""
    stopping = ApproximateConvergence(tolerance, patience)
    return next((step for step, value in enumerate(objectives, start=1) if stopping.update(value)), None)


@pytest.mark.parametrize("first", [np.inf, np.nan])
def test_an_objective_that_is_not_finite_does_not_count_as_the_best(first):
    assert stops_at([first, 5.0, 4.0, 3.0, 2.0], tolerance=1e-3, patience=2) is None


@given(
    values=st.lists(st.floats(-10, 10), min_size=1, max_size=40),
    tolerance=st.sampled_from([0.0, 1e-3, 0.1]),
    patience=st.integers(1, 6),
)
def test_it_stops_when_none_of_the_last_patience_steps_beat_the_best_before(values, tolerance, patience):
    best, waited, expected = values[0], 0, None
    for step, value in enumerate(values[1:], start=2):
        if value < best - tolerance * max(abs(best), 1.0):
            best, waited = value, 0
        else:
            waited += 1
        if waited == patience:
            expected = step
            break
    assert stops_at(values, tolerance, patience) == expected
