"""Methods whose fate a test chooses; they write a line to a file with every fit."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from support.waiting import never_end


class Chain(BaseEstimator):
    """The chain over the columns, from a column that the seed picks."""

    def __init__(self, log="", setting=0, random_state=0):
        self.log, self.setting, self.random_state = log, setting, random_state

    def fit(self, X):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{self.setting} {self.random_state}\n")
        d = X.shape[1]
        order = np.roll(np.arange(d), self.random_state)
        adjacency = np.zeros((d, d), dtype=int)
        adjacency[order[:-1], order[1:]] = 1
        self.adjacency_matrix_ = pd.DataFrame(adjacency, index=X.columns, columns=X.columns)
        return self


class KillsItsParent(Chain):
    """A chain that ends the whole experiment in its n-th fit, once."""

    def __init__(self, log="", setting=0, random_state=0, at=0):
        super().__init__(log, setting, random_state)
        self.at = at

    def fit(self, X):
        super().fit(X)
        if len(Path(self.log).read_text().splitlines()) == self.at:
            os.kill(os.getppid(), signal.SIGKILL)
            never_end()
        return self


class NeverEnds(Chain):
    """A method that goes on until somebody ends it."""

    def fit(self, X):
        super().fit(X)
        never_end()


class Crashes(Chain):
    """A library that takes its process along."""

    def fit(self, X):
        os.write(2, b"segmentation fault in the library\n")
        os._exit(7)


class Raises(Chain):
    """A method that gives up."""

    def fit(self, X):
        raise np.linalg.LinAlgError("matrix\nis singular")


class Fated(BaseEstimator):
    """One edge a -> b, and a -> c with seed 2, unless its fate is another."""

    def __init__(self, fate="well", random_state=0):
        self.fate, self.random_state = fate, random_state

    def fit(self, X):
        match self.fate:
            case "late":
                never_end()
            case "missing":
                raise ImportError("this baseline needs causallearn")
            case "singular" if self.random_state == 1:
                raise RuntimeError("matrix\nis singular")
            case "crash":
                os._exit(9)
            case "interrupted":
                os.kill(os.getppid(), signal.SIGINT)
                never_end()
        self.adjacency_matrix_ = pd.DataFrame(0, X.columns, X.columns)
        self.adjacency_matrix_.loc["a", "b"] = 1
        if self.random_state == 2:
            self.adjacency_matrix_.loc["a", "c"] = 1
        self.causal_order_, self.fit_seconds_ = None, 0.5 + self.random_state
        return self
