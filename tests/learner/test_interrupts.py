"""Ctrl-C at any moment of a fit: an interrupted result or KeyboardInterrupt, and never anything else."""

import signal

import networkx as nx
import numpy as np
import pytest

from daguerreotype import Daguerreotype
from support.fits import linear_data
from support.interrupts import FITS, count_calls
from support.learners import make_learner

POINTS = 6  # moments of each fit


@pytest.mark.parametrize("kind", FITS)
def test_ctrl_c_at_any_moment_ends_with_what_was_found_or_with_an_interrupt(kind):
    if kind == "joint":
        pytest.importorskip("torch")
    settings, X = FITS[kind]
    whole = make_learner(**settings).fit(X)  # what is compiled and imported for the first time calls more
    _, n_calls = count_calls(lambda: whole.fit(X))
    outcomes = []
    for at in np.linspace(1, n_calls, POINTS).round():
        model, sent = make_learner(**settings), []

        def press(sent=sent):
            sent.append(True)
            signal.raise_signal(signal.SIGINT)

        try:
            count_calls(lambda model=model: model.fit(X), [at], press)
            assert model.interrupted_ == bool(sent), at  # with threads, some fits make fewer calls
            assert nx.is_directed_acyclic_graph(model.causal_graph_)
            outcomes.append("interrupted" if sent else "over")
        except KeyboardInterrupt:
            outcomes.append("raised")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Before there is anything to keep, and when there is nothing left to end, it is raised.
    assert outcomes[0] == "raised"
    assert outcomes[-1] in ("raised", "over")
    assert outcomes.count("interrupted") >= POINTS // 3


def test_ctrl_c_in_a_longer_posterior_keeps_what_was_seen_and_says_so():
    model = Daguerreotype(edges="bic", scales="none").fit(linear_data(0, 80, 4))
    model.sample_posterior(200)  # compiles what is not there yet, whose calls would count
    _, n_calls = count_calls(lambda: model.sample_posterior(200))
    posterior, _ = count_calls(lambda: model.sample_posterior(200), [round(0.9 * n_calls)])
    assert posterior.interrupted
    with pytest.raises(KeyboardInterrupt):
        count_calls(lambda: model.sample_posterior(200), [round(0.1 * n_calls)])


def test_ctrl_c_in_a_bagged_posterior_keeps_whole_resamples_or_is_raised():
    model = Daguerreotype(edges="bic", scales="none").fit(linear_data(0, 80, 3))
    model.sample_posterior(20, bagged=4)
    _, n_calls = count_calls(lambda: model.sample_posterior(20, bagged=4))
    for share in (0.5, 0.8):
        posterior, _ = count_calls(lambda: model.sample_posterior(20, bagged=4), [round(share * n_calls)])
        assert posterior.interrupted
        assert 0 < posterior.n_bagged < 4
    with pytest.raises(KeyboardInterrupt):
        count_calls(lambda: model.sample_posterior(20, bagged=4), [round(0.1 * n_calls)])
