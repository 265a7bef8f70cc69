"""Each column is the cause of the next."""

import sys
from dataclasses import dataclass

import numpy as np

from daguerreotype.baselines import Baseline, Learned
from daguerreotype.baselines.registry import REGISTRY


@dataclass(kw_only=True, eq=False, repr=False)
class Chain(Baseline):
    def learn(self, X, rng):
        return Learned(np.eye(X.shape[1], k=1, dtype=np.int64))


REGISTRY["toy"] = ("toy", "Chain")
sys.modules["daguerreotype.baselines.toy"] = sys.modules[__name__]  # as if it were a file there
