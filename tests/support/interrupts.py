"""Interrupts at a given call of a function of the package, the same moment in every run; and fits to interrupt."""

import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import daguerreotype
from support.fits import linear_data

PACKAGE = str(Path(daguerreotype.__file__).parent)


def count_calls(run, at=(), send=lambda: signal.raise_signal(signal.SIGINT)):
    """What ``run()`` returns, and how many calls of the package's functions it makes; ``send()`` at some."""
    seen = 0

    def look(frame, event, argument):
        nonlocal seen
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen += 1
            if seen in at:
                send()

    sys.setprofile(look)
    try:
        return run(), seen
    finally:
        sys.setprofile(None)


def with_gaps(X):
    return np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)


def mixed():
    X = linear_data(0, 80, 3)
    counts = np.random.default_rng(3).poisson(np.exp(0.5 * X[:, 2].clip(-2, 2)))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": X[:, 2], "n": counts})


PLAIN = {"scales": "none", "max_iter": 60, "n_restarts": 2}
FITS = {
    "gam": ({"max_iter": 60, "n_restarts": 2}, linear_data(0, 80, 4)),
    "other scales": ({"edges": "bic"}, np.exp(linear_data(0, 120, 4))),
    "mixed": ({}, mixed()),
    "gaps": (PLAIN, with_gaps(linear_data(0, 80, 4))),
    "gaps, by moments": ({"edges": "bic", **PLAIN}, with_gaps(linear_data(0, 80, 4))),
    "lars": ({**PLAIN, "edges": "lars"}, linear_data(0, 80, 4)),
    "restarts in threads": ({"edges": "bic", "n_jobs": 2, **PLAIN}, linear_data(0, 80, 4)),
    "regressor": ({**PLAIN, "edges": LinearRegression(), "refine": False, "max_iter": 10}, linear_data(0, 80, 3)),
    "joint": ({**PLAIN, "edges": "linear", "training": "joint"}, linear_data(0, 80, 4)),
}
