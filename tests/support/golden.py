"""Fits whose results must not change: every part of the learner in some combination, on small tables.

``python -m support.golden``, run in ``tests``, writes ``tests/golden/fits.json`` anew. Do so only for a change
that is meant to change results, and say which and why in the commit.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import top_k_sparsemax
from support.learners import make_learner

FILE = Path(__file__).parents[1] / "golden" / "fits.json"
QUICK = {"max_iter": 60, "n_restarts": 2, "k": 20}


def linear(noise="normal", d=6, n=150, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.5, 1.5, (d, d)) * rng.choice([-1, 1], (d, d)), 1)
    weights *= rng.random((d, d)) < 0.5
    X = getattr(rng, noise)(size=(n, d))
    for i, j in zip(*np.nonzero(weights), strict=True):  # not by BLAS, whose last digits differ between processors
        X[:, j] += weights[i, j] * X[:, i]
    return X[:, rng.permutation(d)]


def additive(d=6, n=250, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (lambda x: 2 * np.tanh(2 * x), lambda x: 2 * np.sin(2 * x), lambda x: x**2 - 1)
    values = np.empty((n, d))
    for j in range(d):
        values[:, j] = rng.normal(size=n)
        for i in np.flatnonzero(rng.random(j) < 0.4):
            values[:, j] += shapes[rng.integers(3)]((values[:, i] - values[:, i].mean()) / values[:, i].std())
    return values[:, rng.permutation(d)]


def named(X):
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])


LINEAR, LAPLACE, ADDITIVE = linear(), linear("laplace", seed=3), additive()
POSITIVE = np.exp(0.4 * linear(seed=5))
SOME = {"edges": "bic", "loss": "bic", "scales": "none", **QUICK}
CURVES = {"edges": "gam", "loss": "bic", "scales": "none", **QUICK}
GRADIENT = {"scales": "none", "max_iter": 30, "k": 5, "refine": False}
JOINT = {**GRADIENT, "max_iter": 220, "training": "joint"}
# From equal scores the first steps may follow rounding, which differs between processors.
SCORES = [0.3, -1.0, 0.2, 0.5, 0.0, 0.1]
SET = np.zeros(LINEAR.shape, dtype=bool)
SET[:40, 0] = SET[30:80, 3] = True


def learner(**settings):
    """Without a posterior, which chooses the graph that is shown: what searches find is held."""
    return make_learner(**{"posterior": 0, **settings})


def fit(X, fit_params=None, *, edges="gam", **settings):
    edges = edges() if callable(edges) else edges  # made now: importing this file must not import torch
    return learner(edges=edges, **settings).fit(X, **(fit_params or {}))


def own_operator(theta, tau):
    return top_k_sparsemax(theta, 7, tau=2 * tau)


class Regressor:
    """Least squares without a library of its own."""

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(X, y, rcond=None)[0]
        self.coef_[np.abs(self.coef_) < 0.2] = 0.0
        return self

    def predict(self, X):
        return X @ self.coef_

    def get_params(self, deep=True):
        return {}

    def set_params(self, **_):
        return self


def gradient_edges(name, **settings):
    """In double precision: hundreds of steps in single precision differ from processor to processor."""
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.edges.mlp import MlpEdges

    return {"linear": LinearEdges, "mlp": MlpEdges}[name](dtype="float64", **settings)


def from_chunks(X, **settings):
    return learner(**settings).fit_chunks(lambda: iter(np.array_split(X, 4)))


def from_moments(X, **settings):
    return learner(**settings).fit_moments(np.cov(X.T, bias=True), len(X), means=X.mean(axis=0))


def resumed(X, **settings):
    """A fit that stops early and goes on from its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        learner(**{**settings, "max_iter": 15, "refine": False}).fit(X, resume=path)
        return learner(**settings).fit(X, resume=path)


def loaded(X, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        learner(**settings).fit(X).save(path)
        return Daguerreotype.load(path)


def case(make: Callable, X, **settings) -> Callable:
    return lambda: describe(make(X, **settings), X)


def resamples(X, **settings):
    def run():
        resampled = learner(**settings).bootstrap(X, n_resamples=6)
        return {
            "order": [int(j) for j in resampled.consensus_order],
            "frequencies": np.asarray(resampled.edge_frequencies).tolist(),
            "before": np.asarray(resampled.order_frequencies).tolist(),
        }

    return run


def describe(m, X):
    """What a user can read off a fit."""
    adjacency = np.asarray(m.adjacency_matrix_)
    places = np.argwhere(adjacency)
    names = list(getattr(m, "feature_names_in_", range(m.n_features_in_)))
    weights = np.asarray(m.weights_)
    results = {
        "order": [names.index(j) for j in m.causal_order_],
        "edges": places.tolist(),
        "weights": [float(weights[i, j]) for i, j in places],
        "theta": m.theta_.tolist(),
        "probs": m.order_distribution_.probs.tolist(),
        "loss": float(m.loss_),
        "n_iter": len(m.history_),
        "objective": m.history_.objective.tolist()[-3:],
        "transform": m._result.transform,
        "criterion": m._result.criterion if isinstance(m._result.criterion, str) else "callable",
    }
    try:
        results["score"] = float(m.score(X))
    except (TypeError, ValueError) as error:
        results["score"] = type(error).__name__
    if m.edges == "gam" and len(places):
        cause, effect = places[0]
        grid = np.quantile(np.asarray(X)[:, cause], [0.1, 0.4, 0.7])
        results["curve"] = m.curve(names[cause], names[effect], grid).tolist()
    return results


KNOWN = {
    "tiers": Knowledge(tiers=[["v0", "v3"], ["v1", "v2"], ["v4", "v5"]]),
    "required": Knowledge(required=[("v0", "v4"), ("v2", "v3")]),
    "forbidden": Knowledge(forbidden=[("v0", "v1"), ("v1", "v0"), ("v5", "v2")], roots=["v3"]),
}
CASES: dict[str, Callable] = {
    "defaults, linear": case(fit, LINEAR, posterior=100),
    "defaults, Laplace": case(fit, LAPLACE, posterior=100),
    "defaults, additive": case(fit, ADDITIVE, posterior=100),
    "defaults, positive": case(fit, POSITIVE, posterior=100),
    "defaults, named": case(fit, named(ADDITIVE), posterior=100),
    "defaults, another seed": case(fit, ADDITIVE, random_state=7, posterior=100),
    "defaults, no seed": case(fit, ADDITIVE, random_state=None, posterior=100),
    "defaults, bic edges": case(fit, LAPLACE, edges="bic", posterior=100),
    "defaults, lars edges": case(fit, LAPLACE, edges="lars", max_iter=50, posterior=100),
    "many columns": case(fit, linear(d=20, n=300, seed=2), **{**SOME, "k": 50}),
    "few rows": case(fit, linear(d=12, n=30, seed=4), **SOME),
    "two threads": case(fit, ADDITIVE, n_jobs=2, **QUICK),
    "sparsemap": case(fit, LINEAR, operator="sparsemap", **SOME),
    "sparsemap-peel": case(fit, ADDITIVE, operator="sparsemap-peel", start=SCORES, **CURVES),
    "fixed": case(fit, ADDITIVE, operator="fixed", start=[3, 1, 2, 0, 5, 4], **CURVES),
    "random": case(fit, ADDITIVE, operator="random", **CURVES),
    "own operator": case(fit, LINEAR, operator=own_operator, **SOME),
    "init variances": case(fit, LINEAR, start="variances", **{**SOME, "refine": False}),
    "init order": case(fit, named(LINEAR), start=["v2", "v1", "v0", "v5", "v4", "v3"], **SOME),
    "init scores": case(fit, LINEAR, start=SCORES, **SOME),
    "no refining": case(fit, ADDITIVE, refine=False, **CURVES),
    "penalty": case(fit, ADDITIVE, penalty=2.0, **CURVES),
    "gam": case(fit, ADDITIVE, **CURVES),
    "bic": case(fit, LINEAR, **SOME),
    "lasso": case(fit, LINEAR, **{**SOME, "edges": "lasso"}),
    "lars": case(fit, LINEAR, **{**SOME, "edges": "lars"}),
    "regressor": case(fit, LINEAR, **{**SOME, "edges": Regressor(), "max_iter": 8, "k": 5, "refine": False}),
    "nll_ev": case(fit, LINEAR, **{**SOME, "loss": "nll_ev", "standardize": False}),
    "nll_nv": case(fit, LINEAR, **{**SOME, "loss": "nll_nv"}),
    "mse": case(fit, LINEAR, **{**SOME, "loss": "mse", "edges": "lars"}),
    "entropy, bic": case(fit, LAPLACE, **{**SOME, "loss": "entropy"}),
    "entropy, gam": case(fit, ADDITIVE, **{**CURVES, "loss": "entropy"}),
    "own loss": case(fit, LINEAR, **{**SOME, "loss": lambda variance, dof, n: variance + 0.01 * dof}),
    "log": case(fit, POSITIVE, **{**CURVES, "scales": "log"}),
    "yeo-johnson": case(fit, POSITIVE, **{**CURVES, "scales": "yeo-johnson"}),
    "transform auto, Gaussian": case(fit, POSITIVE, **{**SOME, "scales": "auto"}),
    "paper, sparsemax": case(
        lambda X: Daguerreotype.paper("sparsemax", training__max_iter=60, operator__k=20).fit(X), LINEAR
    ),
    "paper, sparsemap": case(
        lambda X: Daguerreotype.paper("sparsemap", training__max_iter=60, operator__max_iter=20).fit(X), LINEAR
    ),
    "tiers": case(fit, named(ADDITIVE), knowledge=KNOWN["tiers"], start=SCORES, **CURVES),
    "required": case(fit, named(ADDITIVE), knowledge=KNOWN["required"], **CURVES),
    "forbidden": case(fit, named(LINEAR), knowledge=KNOWN["forbidden"], **SOME),
    "tiers, sparsemap": case(fit, named(LINEAR), knowledge=KNOWN["tiers"], operator="sparsemap", **SOME),
    "required, lars": case(fit, named(LINEAR), knowledge=KNOWN["required"], **{**SOME, "edges": "lars"}),
    "interventions, bic": case(fit, LINEAR, fit_params={"interventions": SET}, **SOME),
    "interventions, gam": case(fit, LINEAR, fit_params={"interventions": SET}, **CURVES),
    "interventions, defaults": case(fit, LINEAR, fit_params={"interventions": SET}, **QUICK),
    "interventions and tiers": case(
        fit, named(LINEAR), fit_params={"interventions": SET}, knowledge=KNOWN["tiers"], **SOME
    ),
    "chunks, bic": case(from_chunks, LINEAR, **SOME),
    "chunks, gam": case(from_chunks, ADDITIVE, **CURVES),
    "chunks, log": case(from_chunks, POSITIVE, **{**SOME, "scales": "log"}),
    "chunks, lars": case(from_chunks, LINEAR, **{**SOME, "edges": "lars", "loss": "nll_ev"}),
    "moments, bic": case(from_moments, LINEAR, **SOME),
    "moments, raw": case(from_moments, LINEAR, **{**SOME, "loss": "nll_ev", "standardize": False}),
    "bootstrap": resamples(LINEAR, **SOME),
    "resumed": case(resumed, ADDITIVE, **CURVES),
    "loaded, gam": case(loaded, ADDITIVE, **CURVES),
    "loaded, bic": case(loaded, LINEAR, **SOME),
    "gradient linear, bilevel": case(
        fit, LINEAR, **GRADIENT, loss="nll_ev", edges=lambda: gradient_edges("linear", max_iter=100)
    ),
    "gradient mlp, bilevel": case(
        fit,
        LINEAR[:60, :4],
        **{**GRADIENT, "max_iter": 3},
        loss="nll_ev",
        edges=lambda: gradient_edges("mlp", hidden=3, max_iter=50),
    ),
    "linear, joint": case(fit, LINEAR, edges=lambda: gradient_edges("linear"), **JOINT),
    "linear, joint, unequal": case(fit, LINEAR, edges=lambda: gradient_edges("linear"), loss="nll_nv", **JOINT),
    "mlp, joint": case(
        fit, LINEAR[:, :4], **{**JOINT, "max_iter": 300}, edges=lambda: gradient_edges("mlp", hidden=3)
    ),
    "mlp, joint, first steps": case(
        fit,
        LINEAR[:, :4],
        **{**JOINT, "max_iter": 3},
        start=SCORES[:4],
        edges=lambda: gradient_edges("mlp", hidden=3),
    ),
    "linear, joint, interventions": case(
        fit, LINEAR, fit_params={"interventions": SET}, edges=lambda: gradient_edges("linear"), **JOINT
    ),
}


if __name__ == "__main__":
    chosen = {name: run for name, run in CASES.items() if not sys.argv[1:] or name in sys.argv[1:]}
    fits = json.loads(FILE.read_text()) if FILE.exists() and sys.argv[1:] else {}
    fits |= {name: run() for name, run in chosen.items()}
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(fits, indent=1) + "\n")
