"""Constraints of a fit: knowledge about edges and orders, in the numbering of the table."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeEstimator, EdgeRules, LocalFit, LocalModels
from daguerreotype.edges.interventional import prepare_by_group
from daguerreotype.knowledge import Knowledge
from daguerreotype.operators import Precedence
from daguerreotype.training.few_rows import fewer_parents


@dataclass(frozen=True)
class Constraints:
    """Rules about edges and a partial order of the columns; None where there are none.

    A required edge is part of both: its cause stands before its effect. How many parents a node may have is among
    the rules.
    """

    rules: EdgeRules | None = None
    precedence: Precedence | None = None
    names: tuple[str, ...] = ()  # of the columns, for messages

    @classmethod
    def of(
        cls,
        allowed: BoolArray,
        required: BoolArray,
        tiers: IntArray,
        names: tuple[str, ...] = (),
        max_parents: IntArray | None = None,
    ) -> "Constraints":
        """From masks (d, d), the tiers (d,) of the columns, -1 for none, and the most parents (d,).

        What says nothing is left out.
        """
        rules = precedence = None
        if max_parents is not None and np.all(max_parents >= allowed.sum(axis=0)):
            max_parents = None
        free = (allowed | np.eye(tiers.size, dtype=np.bool_)).all() and max_parents is None
        if required.any() or not free:
            rules = EdgeRules(np.ascontiguousarray(allowed), np.ascontiguousarray(required), max_parents)
        if required.any() or np.unique(tiers[tiers >= 0]).size > 1:
            precedence = Precedence(np.argwhere(required).tolist(), tiers.size, tiers=tiers)
        return cls(rules, precedence, names)

    @property
    def before(self) -> BoolArray | bool:
        """Who stands before whom (d, d) in every order."""
        return False if self.precedence is None else self.precedence.before

    def project(self, theta: FloatArray) -> FloatArray:
        """The nearest scores whose order obeys."""
        return theta if self.precedence is None else self.precedence.project(theta)

    def sort(self, theta: FloatArray) -> IntArray:
        """The order of scores that obey; ties as operators break them."""
        return np.argsort(theta, kind="stable") if self.precedence is None else self.precedence.sort(theta)

    def window(self, node: int, rest: IntArray) -> tuple[int, int]:
        """First and last position that ``node`` may take among the ``rest``, in order."""
        return (0, rest.size) if self.precedence is None else self.precedence.window(node, rest)

    def prepare(self, estimator: EdgeEstimator, table: Table) -> LocalModels:
        """The estimator's models of ``table``, made to keep required parents; each column by its own rows."""
        if table.intervened is not None:
            return prepare_by_group(table, lambda part: self.prepare(estimator, part))
        ruled = self.rules is not None and estimator.can.rules
        models: object = estimator.prepare(table, self.rules) if ruled else estimator.prepare(table)
        if not isinstance(models, LocalModels):
            raise TypeError(
                f"{type(estimator).__name__}.prepare returned a {type(models).__name__}, which is no LocalModels: "
                "derive its class from daguerreotype.edges.LocalModels."
            )
        return models

    def check_estimator(self, estimator: EdgeEstimator) -> None:
        """Refuse an estimator that cannot keep what is required."""
        if self.rules is None or not self.rules.anything_required or estimator.can.rules:
            return
        cause, effect = (self._name(node) for node in np.argwhere(self.rules.required)[0])
        raise TypeError(
            f"knowledge requires the edge {cause!r} -> {effect!r}, but {type(estimator).__name__} has no way to "
            "keep it: let prepare(table, rules) keep rules.required, say so by can = Capabilities(rules=True), "
            "or choose edges that have one, such as 'gam', 'bic' or 'lars'."
        )

    def moves_obey(self, estimator: EdgeEstimator) -> bool:
        """Whether all that the estimator's models offer heeds the rules, and not their single fits alone."""
        if self.rules is None or not estimator.can.rules:
            return self.rules is None
        return self.rules.max_parents is None or estimator.can.max_parents

    def check_fit(self, node: int, fit: LocalFit) -> None:
        """Refuse what an estimator of the user's chose against the rules."""
        if self.rules is None:
            return
        missing = np.setdiff1d(self.rules.required_parents(node), fit.parents)
        forbidden = fit.parents[~self.rules.allowed[fit.parents, node]]
        for parents, what in ((missing, "left out"), (forbidden, "chose")):
            if parents.size:
                raise ValueError(
                    f"the edge estimator {what} {self._name(parents[0])!r} as a parent of {self._name(node)!r}, "
                    "against knowledge: its fits must keep all of rules.required, and choose among the "
                    "predecessors that they are given."
                )
        if fit.parents.size > self.rules.most_parents(node):
            raise ValueError(
                f"the edge estimator chose {fit.parents.size} parents of {self._name(node)!r}, where knowledge "
                f"allows {self.rules.most_parents(node)}: its fits must choose among the predecessors that they "
                "are given."
            )

    def _name(self, node: int) -> str:
        return self.names[node] if self.names else str(node)

    def settings(self) -> dict[str, str]:
        """What a training run depends on, for its checkpoint; nothing if nothing is known."""
        matrices: list[Any] = [] if self.precedence is None else [self.precedence.before]
        if self.rules is not None:
            matrices += [self.rules.allowed, self.rules.required]
            matrices += [] if self.rules.max_parents is None else [self.rules.max_parents]
        if not matrices:
            return {}
        return {"digest of constraints": sha256(b"".join(matrix.tobytes() for matrix in matrices)).hexdigest()}


def known_constraints(
    knowledge: Any, table: Table, columns: IntArray, order: IntArray | None = None, few: bool = False
) -> Constraints:
    """What the columns of a table, in this order of them, obey.

    ``order`` is one that is given, which must obey, too; a table of ``few`` rows has few parents.
    """
    resolved = Knowledge.of(knowledge).resolve(table.names, numbered=not table.named)
    if order is not None:
        resolved.check_order(order)
    resolved = resolved.take(columns)
    most = resolved.max_parents
    if few:
        most = fewer_parents(most, resolved.required.sum(axis=0), table.n_rows)
    return Constraints.of(resolved.allowed, resolved.required, resolved.tier, resolved.names, most)


FREE = Constraints()
