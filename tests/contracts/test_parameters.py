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


# What takes the parameters, which it takes, and those that nonsense is no nonsense for: then it must work.
PARTS = {
    "Daguerreotype": (
        fit,
        [*inspect.signature(Daguerreotype).parameters],
        {
            "min_gain": ["half"],
            "standardize": ["truth"],
            "penalty": ["half", "none"],
            "knowledge": ["none"],
            "n_jobs": ["negative", "none"],
            "random_state": ["none"],
            "verbose": ["truth"],
        },
    ),
    "Sparsemax": (lambda **given: fit(operator=Sparsemax(**given)), ["k", "tau"], {"tau": ["half"]}),
    "SparseMAP": (
        lambda **given: fit(operator=SparseMAP(**given)),
        ["max_iter", "tau", "method"],
        {"tau": ["half"]},
    ),
    "FixedOrder": (lambda **given: fit(operator=FixedOrder(**given)), ["order"], {}),
    "Bilevel": (
        lambda **given: fit(training=Bilevel(**{**FEW_STEPS, **given})),
        [*inspect.signature(Bilevel).parameters],
        {**{name: ["half"] for name in ("learning_rate", "l2", "tol")}, "refine": ["truth"]},
    ),
    "Joint": (
        lambda **given: Joint(**given).check(),
        ["learning_rate", "l2", "max_iter", "tol", "patience", "loss"],
        {name: ["half"] for name in ("learning_rate", "l2", "tol")},
    ),
    "Daguerreotype.sample_posterior": (
        FITTED.sample_posterior,
        ["n_sweeps", "n_chains", "bagged", "random_state", "n_jobs", "keep"],
        {"n_sweeps": ["none"], "n_jobs": ["negative", "none"], "keep": ["truth"]},
    ),
    "Daguerreotype.impute": (
        lambda **given: FITTED.impute(**{"X": X[:3], **given}),
        ["n_draws", "random_state", "interventions"],
        {"interventions": ["none"]},
    ),
    "Daguerreotype.score": (
        lambda **given: FITTED.score(**{"X": X[:3], **given}),
        ["interventions"],
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
        ["penalty", "gamma", "min_gain"],
        {name: ["half"] for name in ("penalty", "gamma", "min_gain")},
    ),
    "GamEdges": (
        lambda **given: fit_with(GamEdges, **given),
        ["n_knots", "penalty", "gamma", "min_gain"],
        {name: ["half"] for name in ("penalty", "gamma", "min_gain")},
    ),
    "LassoEdges": (lambda **given: fit_with(LassoEdges, **given), ["alpha"], {"alpha": ["half"]}),
    "RegressorEdges": (
        lambda **given: fit_with(lasso_with, **given),
        ["regressor", "selection", "random_state", "cv"],
        {"random_state": ["none"], "cv": ["none"]},
    ),
    **{
        edges.__name__: (
            lambda edges=edges, **given: edges(**given).check(),
            [*inspect.signature(edges).parameters],
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
        ["standardize", "random_state", "time_limit"],
        {"standardize": ["truth"], "random_state": ["none"], "time_limit": ["none", "half"]},
    ),
    "Knowledge": (
        Knowledge,
        [*inspect.signature(Knowledge).parameters],
        {"max_parents": ["none"], "tiers": ["list"]},
    ),
    "simulate_dag": (
        lambda **given: simulate_dag(**{"d": 5, "n_edges": 2, **given}),
        ["d", "n_edges", "kind", "random_state"],
        {"n_edges": ["half"], "random_state": ["none", "generator"]},
    ),
    "simulate_data": (
        lambda **given: simulate_data(**{"adjacency": CHAIN, "n": 3, **given}),
        [*inspect.signature(simulate_data).parameters],
        {
            "noise_scale": ["half", "truth"],
            "standardize": ["truth"],
            "interventions": ["none"],
            "random_state": ["none", "generator"],
        },
    ),
    "top_k_sparsemax": (
        lambda **given: top_k_sparsemax(**{"theta": [0.0, 1.0], **given}),
        ["theta", "k", "tau", "precedence"],
        {"tau": ["half"], "precedence": ["none"]},
    ),
    "sparsemap": (
        lambda **given: sparsemap(**{"theta": [0.0, 1.0], **given}),
        ["theta", "max_iter", "tau", "method", "precedence"],
        {"tau": ["half"], "precedence": ["none"]},
    ),
    "k_best_rankings": (
        lambda **given: k_best_rankings(**{"theta": [0.0, 1.0], "k": 1, **given}),
        ["theta", "k", "precedence"],
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


@pytest.mark.parametrize("part", PARTS)
def test_no_parameter_is_left_out(part):
    """Parameters of public classes and functions are walked over as they are now, not as they were."""
    if part in ("Daguerreotype", "LinearEdges", "MlpEdges", "Knowledge", "simulate_data"):
        return  # read off the signature
    owner = {
        "BicEdges": BicEdges,
        "GamEdges": GamEdges,
        "LassoEdges": LassoEdges,
        "RegressorEdges": RegressorEdges,
        "Empty": Empty,
        "simulate_dag": simulate_dag,
        "top_k_sparsemax": top_k_sparsemax,
        "sparsemap": sparsemap,
        "k_best_rankings": k_best_rankings,
    }.get(part)
    if owner is not None:
        assert set(inspect.signature(owner).parameters) == set(PARTS[part][1])


@pytest.mark.parametrize("name", ["n_trials", "random_state", "callback"])
def test_a_search_refuses_nonsense_before_it_begins(name):
    pytest.importorskip("optuna")
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
