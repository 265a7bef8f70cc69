"""Does every parameter of every public part refuse what it cannot be, in a sentence that names it?"""

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoLarsIC

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.baselines.sortnregress import Empty
from daguerreotype.bootstrap import bootstrap
from daguerreotype.edges import BicEdges, GamEdges, LassoEdges, LinearEdges, MlpEdges, RegressorEdges
from daguerreotype.operators import (
    FixedOrder,
    RandomOrder,
    SparseMAP,
    Sparsemax,
    k_best_rankings,
    sparsemap,
    top_k_sparsemax,
)
from daguerreotype.simulate import simulate_dag, simulate_data
from daguerreotype.training import Bilevel, Joint
from daguerreotype.tune import tune_table

X = np.random.default_rng(0).normal(size=(12, 2)) @ np.array([[1.0, 0.8], [0.0, 1.0]])
CHAIN = np.array([[0, 1], [0, 0]])
FEW_STEPS = {"max_iter": 2, "n_restarts": 0}
NONSENSE = {
    "text": "no",
    "nan": float("nan"),
    "negative": -1,
    "half": 0.5,
    "none": None,
    "list": [[]],
    "object": object(),
    "truth": True,
    "generator": np.random.default_rng(0),
}
FITTED = Daguerreotype(edges="bic", operator=FixedOrder([0, 1]), scales="none", posterior=1).fit(X)


def fit_with(edges, **settings):
    """Fit edges with these settings along a fixed order."""
    return Daguerreotype(edges=edges(**settings), operator=FixedOrder([0, 1]), scales="none", posterior=1).fit(X)


def fit(**settings):
    """Fit a quick learner with these settings."""
    quick = Daguerreotype(edges="bic", operator=Sparsemax(k=2), training=Bilevel(**FEW_STEPS), posterior=1)
    return quick.set_params(**settings).fit(X)


def lasso_with(**settings):
    return RegressorEdges(**{"regressor": LassoLarsIC(), **settings})


def of(owner, *without):
    """Names of the parameters of a class or function, as they are now."""
    return [name for name in inspect.signature(owner).parameters if name not in without]


# What takes the parameters, which it takes, and those that nonsense is no nonsense for: then it must work.
PARTS = {
    "Daguerreotype": (
        fit,
        of(Daguerreotype),
        {
            "trust": ["none"],
            "min_gain": ["half"],
            "standardize": ["truth"],
            "penalty": ["half", "none"],
            "knowledge": ["none"],
            "n_jobs": ["negative", "none"],
            "random_state": ["none"],
            "verbose": ["truth"],
        },
    ),
    "Sparsemax": (lambda **given: fit(operator=Sparsemax(**given)), of(Sparsemax), {"tau": ["half"]}),
    "SparseMAP": (lambda **given: fit(operator=SparseMAP(**given)), of(SparseMAP), {"tau": ["half"]}),
    "FixedOrder": (lambda **given: fit(operator=FixedOrder(**given)), of(FixedOrder), {}),
    "Bilevel": (
        lambda **given: fit(training=Bilevel(**{**FEW_STEPS, **given})),
        of(Bilevel),
        {**{name: ["half"] for name in ("learning_rate", "l2", "tol")}, "refine": ["truth"]},
    ),
    "Joint": (
        lambda **given: Joint(**given).check(),
        ["learning_rate", "l2", "max_iter", "tol", "patience", "loss"],
        {name: ["half"] for name in ("learning_rate", "l2", "tol")},
    ),
    "Daguerreotype.sample_posterior": (
        FITTED.sample_posterior,
        of(FITTED.sample_posterior, "resume"),
        {"n_sweeps": ["none"], "n_jobs": ["negative", "none"]},
    ),
    "Daguerreotype.impute": (
        lambda **given: FITTED.impute(**{"X": X[:3], **given}),
        of(FITTED.impute, "X"),
        {"interventions": ["none"]},
    ),
    "Daguerreotype.score": (
        lambda **given: FITTED.score(**{"X": X[:3], **given}),
        of(FITTED.score, "X", "y"),
        {"interventions": ["none"]},
    ),
    "bootstrap": (
        lambda **given: bootstrap(**{"learner": FITTED, "X": X, "n_resamples": 1, **given}),
        ["n_resamples", "random_state", "n_jobs", "fraction", "replace", "threshold", "fit_params"],
        {
            "n_jobs": ["negative", "none"],
            "fraction": ["half"],
            "threshold": ["half"],
            "replace": ["truth"],
            "fit_params": ["none"],
        },
    ),
    "BicEdges": (
        lambda **given: fit_with(BicEdges, **given),
        of(BicEdges),
        {"penalty": ["half"], "gamma": ["half"], "trust": ["none"]},
    ),
    "GamEdges": (
        lambda **given: fit_with(GamEdges, **given),
        of(GamEdges),
        {"penalty": ["half"], "gamma": ["half"], "trust": ["none"]},
    ),
    "LassoEdges": (lambda **given: fit_with(LassoEdges, **given), of(LassoEdges), {"alpha": ["half"]}),
    "RegressorEdges": (
        lambda **given: fit_with(lasso_with, **given),
        of(RegressorEdges),
        {"random_state": ["none"], "cv": ["none"]},
    ),
    **{
        edges.__name__: (
            lambda edges=edges, **given: edges(**given).check(),
            of(edges),
            {
                **{name: ["half"] for name in ("pruning", "l2", "tol", "learning_rate")},
                "warm_up": ["truth"],
                "batch_size": ["none"],
                "final_fit": ["none"],
            },
        )
        for edges in (LinearEdges, MlpEdges)
    },
    "Empty": (
        lambda **given: Empty(**given).fit(X),
        of(Empty),
        {"standardize": ["truth"], "random_state": ["none"], "time_limit": ["none", "half"]},
    ),
    "Knowledge": (
        Knowledge,
        of(Knowledge),
        {"max_parents": ["none"], "tiers": ["list"]},
    ),
    "simulate_dag": (
        lambda **given: simulate_dag(**{"d": 5, "n_edges": 2, **given}),
        of(simulate_dag),
        {"n_edges": ["half"], "random_state": ["none", "generator"]},
    ),
    "simulate_data": (
        lambda **given: simulate_data(**{"adjacency": CHAIN, "n": 3, **given}),
        of(simulate_data),
        {
            "noise_scale": ["half", "truth"],
            "standardize": ["truth"],
            "interventions": ["none"],
            "random_state": ["none", "generator"],
        },
    ),
    "top_k_sparsemax": (
        lambda **given: top_k_sparsemax(**{"theta": [0.0, 1.0], **given}),
        of(top_k_sparsemax),
        {"tau": ["half"], "precedence": ["none"]},
    ),
    "sparsemap": (
        lambda **given: sparsemap(**{"theta": [0.0, 1.0], **given}),
        of(sparsemap),
        {"tau": ["half"], "precedence": ["none"]},
    ),
    "k_best_rankings": (
        lambda **given: k_best_rankings(**{"theta": [0.0, 1.0], "k": 1, **given}),
        of(k_best_rankings),
        {"precedence": ["none"]},
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_nonsense_is_refused_by_the_name_of_the_parameter(part):
    call, names, fine = PARTS[part]
    for name, (kind, value) in itertools.product(names, NONSENSE.items()):
        if kind in fine.get(name, ()):
            call(**{name: value})
            continue
        with pytest.raises((ValueError, TypeError), match=name):
            call(**{name: value})


def test_a_search_refuses_nonsense_before_it_begins():
    pytest.importorskip("optuna")
    for name in ("n_trials", "random_state", "callback"):
        with pytest.raises((ValueError, TypeError), match=name):
            tune_table(FITTED, X, **{name: object()})


def test_two_fits_of_one_learner_find_the_same_whatever_they_draw():
    learner = Daguerreotype(edges="bic", random_state=3, operator=RandomOrder())
    assert learner.fit(X).causal_order_.tolist() == learner.fit(X).causal_order_.tolist()
    with pytest.raises(TypeError, match="random_state is a Generator, which draws otherwise each time"):
        learner.set_params(random_state=np.random.default_rng(0)).fit(X)


def test_a_table_in_the_place_of_a_parameter_is_shown_in_one_line():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    own = ["kinds", "operator", "noise", "knowledge", "edges", "training"]
    for name in (*own, "training__start", "operator__tau", "training__loss"):
        with pytest.raises((TypeError, ValueError)) as refused:
            Daguerreotype().set_params(**{name: table}).fit(table)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500
