"""Baselines that end in all the ways a method can, in a file that a child process can import."""

import os
from dataclasses import dataclass

import numpy as np

from daguerreotype.baselines import Baseline, Learned
from support.waiting import never_end


@dataclass(kw_only=True, eq=False, repr=False)
class Ending(Baseline):
    """One edge from the first column to the second, unless something comes in between."""

    end: str = "well"

    def learn(self, X, rng):
        print("a library that talks")  # noqa: T201
        adjacency = np.zeros((X.shape[1], X.shape[1]), dtype=np.int64)
        adjacency[0, 1] = 1
        match self.end:
            case "late":
                never_end()
            case "error":
                raise ZeroDivisionError("nothing is left of column 3")
            case "unpicklable error":
                raise type("Local", (Exception,), {})("made inside a function")
            case "death":
                os._exit(9)
            case "cycle":
                adjacency[1, 0] = 1
            case "against its order":
                return Learned(adjacency, order=np.array([1, 0, 2]))
        return Learned(adjacency, rng.normal(size=adjacency.shape) * adjacency)
