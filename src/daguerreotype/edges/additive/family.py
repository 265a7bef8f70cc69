"""Families of distributions of discrete columns as effects, laid out for the kernels of searches.

A discrete column has a target for each family that it may have: a search takes the likeliest. A number has no
family here: its likelihood is made from second moments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.basis import Basis
from daguerreotype.edges.grow_shrink.problem import FIRST, LAST, OtherScales, Problem
from daguerreotype.noise.base import DiscreteNoise, NoiseOfMasses, Outcomes
from daguerreotype.noise.gaussian import ROUNDING
from daguerreotype.noise.registry import make_noise, open_noise


class Candidate(NamedTuple):
    """A family that a column may have, and what parents are to explain then."""

    family: DiscreteNoise
    outcomes: Outcomes


@dataclass(frozen=True)
class Families:
    """The families that every column may have.

    Attributes
    ----------
    candidates : tuple of d tuples of Candidate
        Empty for numbers.
    """

    candidates: tuple[tuple[Candidate, ...], ...]

    @classmethod
    def of(cls, table: Table, n_fitted: int) -> "Families":
        """Those that the table names, or the usual ones of its kinds; its first ``n_fitted`` rows are fitted."""
        names = table.families or tuple(kind.noise for kind in table.kinds)
        candidates = []
        for name, codes, kind in zip(names, table.values.T, table.kinds, strict=True):
            families: tuple[DiscreteNoise, ...] = ()
            if kind.discrete:
                noise = open_noise(kind) if name == "auto" else make_noise(name)
                assert isinstance(noise, NoiseOfMasses)
                families, codes = noise.families, codes.astype(np.int64)
            outcomes = [family.outcomes(codes, n_fitted, kind) for family in families]
            candidates.append(tuple(map(Candidate, families, outcomes)))
        return cls(tuple(candidates))

    @property
    def kernels(self) -> tuple[Callable[..., int], ...]:
        """Kernels that maximise the likelihoods, each once."""
        families = [candidate.family for column in self.candidates for candidate in column]
        return tuple(dict.fromkeys(family.maximise for family in families if family.maximise is not None))

    def beside(self, scales: OtherScales | None, features: FloatArray) -> tuple[OtherScales, IntArray]:
        """Other scales of numbers, with a target for every candidate of a discrete column but the first.

        A candidate stands there as if it were a scale of its own: the number itself, where second moments are
        enough for it. ``features`` (m, p) are the basis columns in the rows that are fitted. Returns too
        in which order all these stand, the scales having come first.
        """
        more = [(node, candidate) for node, column in enumerate(self.candidates) for candidate in column[1:]]
        by_moments = np.array([candidate.family.maximise is None for _, candidate in more], dtype=np.bool_)
        values = np.zeros((len(features), len(more)))
        for column, (_, candidate) in zip(values.T, more, strict=True):
            column[:] = candidate.outcomes.codes - candidate.outcomes.codes.mean()
        values *= by_moments
        families = OtherScales(
            np.array([node for node, _ in more], dtype=np.int64),
            features.T @ values / len(features),
            np.where(by_moments, np.mean(values**2, axis=0), 1.0),
            np.zeros(len(more)),
            np.where(by_moments, ROUNDING, 0.0),
            np.ones(len(more), dtype=np.bool_),
        )
        together = families if scales is None else scales.joined(families)
        order = np.argsort(together.variables, kind="stable")
        return together.take(order), order

    def target(self, problem: Problem, node: int, place: int) -> int:
        """The target of one of the candidates of a column."""
        return node if place == 0 else int(problem.scales[node]) + place - 1

    def place(self, problem: Problem, node: int, target: int) -> int:
        """Which of the candidates of a column a target is."""
        return 0 if target == node else target - int(problem.scales[node]) + 1

    def describe(self, problem: Problem, table: Table, bases: Sequence[Basis], features: FloatArray) -> Problem:
        """The problem with what searches must know of discrete columns; ``features`` as of `beside`."""
        m, d, n_targets = len(features), len(self.candidates), len(problem.families)
        kernels = self.kernels
        sizes = [c.outcomes.start.size + c.outcomes.shape.size for column in self.candidates for c in column]
        n_codes = np.zeros(d, dtype=np.int64)
        starts = np.zeros((n_targets, max(sizes) + 1))
        codes, outcomes = np.zeros((d, m), dtype=np.int64), np.zeros((n_targets, m), dtype=np.int64)
        places = problem.places.copy()
        for node, (column, basis) in enumerate(zip(self.candidates, bases, strict=True)):
            if not column:
                # Columns have variance one among the features, and not quite in the table.
                problem.offsets[node] = np.log(basis.unit[1])
                continue
            whole = table.values[:, node].astype(np.int64)
            codes[node], n_codes[node] = whole[:m], whole.max() + 1
            for place, (family, outcome) in enumerate(column):
                target = self.target(problem, node, place)
                places[target, [FIRST, LAST]] = 0  # a family is no scale, which the other targets might have too
                problem.offsets[target] = outcome.offset
                if family.maximise is None:  # its variance is paid for
                    problem.offsets[target] += 0.5 * problem.penalty_per_dof / problem.n_rows
                    continue
                q, k = outcome.start.size, outcome.shape.size
                problem.families[target] = kernels.index(family.maximise), q, k
                penalty = 0.5 * problem.penalty_per_dof * family.shape_penalty * m / problem.n_rows
                starts[target, : q + k + 1] = np.concatenate([outcome.start, outcome.shape, [penalty]])
                outcomes[target] = outcome.codes
        return problem._replace(
            starts=starts,
            features=np.ascontiguousarray(features.T),
            outcomes=outcomes,
            codes=codes,
            n_codes=n_codes,
            places=places,
        )
