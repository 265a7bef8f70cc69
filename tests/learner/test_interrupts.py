"""Ctrl-C at any moment of a fit: an interrupted result or KeyboardInterrupt, and never anything else."""

import signal

import networkx as nx
import numpy as np
import pytest

from daguerreotype import Daguerreotype
from support.fits import linear_data
from support.interrupts import FITS, count_calls

POINTS = 6  # moments of each fit


@pytest.mark.parametrize("kind", FITS)
def test_ctrl_c_at_any_moment_ends_with_what_was_found_or_with_an_interrupt(kind):
    if kind == "joint":
        pytest.importorskip("torch")
    settings, X = FITS[kind]
    whole = Daguerreotype(**settings).fit(X)  # what is compiled and imported for the first time calls more
    _, n_calls = count_calls(lambda: whole.fit(X))
    outcomes = []
    for at in np.linspace(1, n_calls, POINTS).round():
        model, sent = Daguerreotype(**settings), []

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
    assert outcomes.count("interrupted") >= POINTS // 2


def test_ctrl_c_twice_in_a_row_raises_at_once():
    settings, X = FITS["gam"]
    model = Daguerreotype(**settings)
    _, n_calls = count_calls(lambda: model.fit(X))
    with pytest.raises(KeyboardInterrupt):
        # In the end little is left to check, and the first one would be noted only.
        count_calls(lambda: model.fit(X), [n_calls - 3, n_calls - 2])


def test_ctrl_c_while_a_later_scale_is_learned_is_told():
    settings, X = FITS["other scales"]
    whole, n_calls = count_calls(lambda: Daguerreotype(**settings).fit(X))
    assert whole.transform_ != "none"
    told = [
        count_calls(lambda: Daguerreotype(**settings).fit(X), [at])[0].interrupted_
        for at in np.linspace(0.3 * n_calls, 0.95 * n_calls, 4).round()
    ]
    assert all(told)


def test_a_fit_in_another_thread_is_as_ever():
    from concurrent.futures import ThreadPoolExecutor

    settings, X = FITS["gam"]
    with ThreadPoolExecutor(1) as pool:
        model = pool.submit(Daguerreotype(**settings).fit, X).result()
    assert not model.interrupted_


def test_ctrl_c_in_a_longer_posterior_keeps_what_was_seen_and_says_so():
    model = Daguerreotype(edges="bic", transform="none").fit(linear_data(0, 80, 4))
    _, n_calls = count_calls(lambda: model.posterior(200))
    found, _ = count_calls(lambda: model.posterior(200), [round(0.9 * n_calls)])
    assert found.interrupted
    with pytest.raises(KeyboardInterrupt):
        count_calls(lambda: model.posterior(200), [round(0.1 * n_calls)])


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_ctrl_c_in_a_bagged_posterior_keeps_whole_resamples_or_is_raised(share):
    model = Daguerreotype(edges="bic", transform="none").fit(linear_data(0, 80, 3))
    _, n_calls = count_calls(lambda: model.posterior(20, bagged=4))
    try:
        found, _ = count_calls(lambda: model.posterior(20, bagged=4), [round(share * n_calls)])
    except KeyboardInterrupt:
        assert share == 0.2
        return
    assert found.interrupted
    assert 0 < found.n_bagged < 4
