"""Families of distributions of discrete columns as effects, laid out for the kernels of searches.

A number has no family here: its likelihood is made from second moments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.basis import Basis
from daguerreotype.edges.grow_shrink.problem import Problem
from daguerreotype.noise.base import DiscreteNoise, Outcomes
from daguerreotype.noise.registry import make_noise


@dataclass(frozen=True)
class Families:
    """The family of every column.

    Attributes
    ----------
    noise : tuple of d DiscreteNoise or None
        None for numbers.
    outcomes : tuple of d Outcomes or None
        What parents are to explain of each.
    """

    noise: tuple[DiscreteNoise | None, ...]
    outcomes: tuple[Outcomes | None, ...]

    @classmethod
    def of(cls, table: Table, n_fitted: int) -> "Families":
        """Those that the table names, or the usual ones of its kinds; its first ``n_fitted`` rows are fitted."""
        names = table.families or tuple(kind.noise for kind in table.kinds)
        noise = tuple(
            cast(DiscreteNoise, make_noise(name)) if discrete else None
            for name, discrete in zip(names, table.discrete, strict=True)
        )
        outcomes = tuple(
            None if family is None else family.outcomes(codes.astype(np.int64), n_fitted, kind)
            for family, codes, kind in zip(noise, table.values.T, table.kinds, strict=True)
        )
        return cls(noise, outcomes)

    @property
    def kernels(self) -> tuple[Callable[..., int], ...]:
        """Kernels that maximise the likelihoods, each once."""
        return tuple(dict.fromkeys(family.maximise for family in self.noise if family is not None))

    def describe(self, problem: Problem, table: Table, bases: Sequence[Basis], features: FloatArray) -> Problem:
        """The problem with what searches must know of discrete columns.

        ``features`` (m, p) are the basis columns in the rows that are fitted.
        """
        m, d = len(features), len(self.noise)
        kernels, discrete = self.kernels, [outcome for outcome in self.outcomes if outcome is not None]
        n_codes = np.zeros(d, dtype=np.int64)
        starts = np.zeros((d, max(outcome.start.size + outcome.shape.size for outcome in discrete) + 1))
        outcomes, codes = np.zeros((2, d, m), dtype=np.int64)
        for node, (family, outcome, basis) in enumerate(zip(self.noise, self.outcomes, bases, strict=True)):
            if family is None or outcome is None:
                # Columns have variance one among the features, and not quite in the table.
                problem.offsets[node] = np.log(basis.unit[1])
                continue
            problem.families[node] = kernels.index(family.maximise), outcome.start.size, outcome.shape.size
            penalty = 0.5 * problem.penalty_per_dof * family.shape_penalty
            start = np.concatenate([outcome.start, outcome.shape, [penalty]])
            starts[node, : start.size] = start
            outcomes[node], problem.offsets[node] = outcome.codes, outcome.offset
            whole = table.values[:, node].astype(np.int64)
            codes[node], n_codes[node] = whole[:m], whole.max() + 1
        return problem._replace(
            lines=np.array([basis.line for basis in bases]),
            starts=starts,
            features=np.ascontiguousarray(features.T),
            outcomes=outcomes,
            codes=codes,
            n_codes=n_codes,
        )
