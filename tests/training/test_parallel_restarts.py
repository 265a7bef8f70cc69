"""Are restarts that run ahead of their turn as good as restarts one after the other?"""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.edges import BicEdges, GamEdges, LarsEdges
from daguerreotype.noise import make_noise
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.objective import LOSSES, make_objective
from daguerreotype.training.refine import Moves, refine_order
from daguerreotype.training.run import Run
from daguerreotype.training.scores import OrderScores
from support.fits import additive_data, linear_data, standard_table
from support.waiting import HANG

ESTIMATORS = {"bic": BicEdges(), "gam": GamEdges(), "lars": LarsEdges()}


def scores_of(values, estimator="bic", loss="bic", n_jobs=1, **settings):
    n, d = values.shape
    models = ESTIMATORS[estimator].prepare(standard_table(values))
    known = {"noise": (make_noise(LOSSES[loss].noise),) * d, "run": Run(n_jobs=n_jobs)} | settings
    return OrderScores(models, make_objective(loss, 1.0), n_rows=n, d=d, **known)


def refined(order, scores, **settings):
    """Order, loss, and the losses of all sweeps."""
    moves = Moves(np.asarray(order))
    refine_order(moves, scores, **settings)
    return moves.best.tolist(), moves.best_loss, moves.swept_losses


class Pressed(Moves):
    """Calls ``press`` at a certain sweep."""

    def improves(self, sweep):
        better = super().improves(sweep)
        if len(self.swept_losses) == self.at:
            self.press()
        return better


# ---------------------------------------------------------------------------- the same result


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(0, 9), st.sampled_from(["bic", "nll_ev"]))
def test_any_number_of_threads_finds_the_same_order_by_the_same_sweeps(seed, d, n_restarts, loss):
    values, start = linear_data(seed, 80, d), np.random.default_rng(seed).permutation(d)
    known = {"n_restarts": n_restarts, "random_state": seed}
    alone = refined(start, scores_of(values, loss=loss), **known)
    for n_jobs in (2, 3):
        assert refined(start, scores_of(values, loss=loss, n_jobs=n_jobs), **known) == alone


@pytest.mark.parametrize("estimator", ["bic", "gam"])
def test_the_same_holds_for_larger_problems_in_which_restarts_improve(estimator):
    improved = 0
    for seed in range(3):
        values = (additive_data if estimator == "gam" else linear_data)(seed, 150, 20, density=0.5)
        start = np.random.default_rng(seed).permutation(20)
        alone = refined(start, scores_of(values, estimator), n_restarts=6)
        improved += alone[1] < refined(start, scores_of(values, estimator))[1]
        for n_jobs in (2, 3):
            assert refined(start, scores_of(values, estimator, n_jobs=n_jobs), n_restarts=6) == alone
    assert improved


def test_restarts_in_threads_obey_constraints():
    values = linear_data(2, 100, 12)
    tiers = np.repeat([1, 0, 2], 4)
    nothing = np.zeros((12, 12), dtype=bool)
    constraints = Constraints.of(tiers[:, None] <= tiers, nothing, tiers)
    start = np.argsort(tiers, kind="stable")
    found = [
        refined(start, scores_of(values, constraints=constraints, n_jobs=n_jobs), n_restarts=6)
        for n_jobs in (1, 2)
    ]
    assert found[0] == found[1]
    assert (np.diff(tiers[found[0][0]]) >= 0).all()


def test_forks_search_apart_and_find_the_same():
    values = linear_data(3, 100, 15)
    for estimator in ("bic", "gam"):
        scores = scores_of(values, estimator)
        first, second = scores.clones(2)
        assert first.models is scores.models
        assert second.models is not scores.models
        before = scores.models._arena.size[0]
        order = np.random.default_rng(0).permutation(15)
        swept = second.sweep(order)
        assert second.models._arena.size[0] > before == scores.models._arena.size[0]
        np.testing.assert_array_equal(swept[0], scores.sweep(order)[0])
        assert swept[1] == scores.sweep(order)[1]
        assert second.models.problem is scores.models.problem  # moments are shared


def test_scores_by_single_fits_are_not_forked():
    values = linear_data(3, 100, 5)
    assert scores_of(values, "lars").clones(2) == []
    assert scores_of(values, "bic", "entropy").clones(2) == []
    assert scores_of(values, "bic").clones(1) == []


def test_an_error_in_another_thread_is_raised(monkeypatch):
    sweep = OrderScores.sweep

    def fails(self, order):
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("cannot be fitted")
        return sweep(self, order)

    monkeypatch.setattr(OrderScores, "sweep", fails)
    with pytest.raises(ValueError, match="cannot be fitted"):
        refined(np.arange(6), scores_of(linear_data(0, 80, 6), n_jobs=2), n_restarts=3)


# ---------------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("at", [1, 30])
def test_a_search_in_a_thread_that_waits_for_others_can_be_ended(at):
    values = linear_data(11, 100, 25, density=0.3)
    scores, moves = scores_of(values, n_jobs=2), Pressed(np.arange(25))
    before = set(threading.enumerate())
    moves.at, moves.press = at, scores.run.cancel.cancel
    ended = []

    def search():
        with pytest.raises(KeyboardInterrupt):
            refine_order(moves, scores, n_restarts=10**6)
        ended.append(True)

    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    thread.join(HANG)
    assert ended
    assert set(threading.enumerate()) <= before
    assert (np.diff(moves.swept_losses) <= 0).all()
    assert moves.best_loss == moves.swept_losses[-1] == pytest.approx(scores_of(values).loss_of(moves.best))
