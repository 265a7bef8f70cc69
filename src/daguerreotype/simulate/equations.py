"""Evaluation of structural equations, node by node in causal order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from daguerreotype._lib.typing import FloatArray
from daguerreotype.graphs.dag import Dag, topological_order
from daguerreotype.simulate.interventions import Setting
from daguerreotype.simulate.mechanisms import OUTCOMES, SIGNALS, Ranges, draw_weights
from daguerreotype.simulate.noise import NOISES


@dataclass(frozen=True, slots=True)
class Equations:
    """The checked choices for each of the d nodes: what `simulate_data` was asked for.

    Attributes
    ----------
    mechanisms, noises : sequences of d str
        Keys of the mechanisms and of the kinds of noise.
    scales : array of shape (d,)
        Standard deviations of the noise.
    ranges : sequence of pairs (low, high)
        Where weights are drawn from.
    """

    mechanisms: Sequence[str]
    noises: Sequence[str]
    scales: FloatArray
    ranges: Ranges

    def draw(self, dag: Dag, n: int, settings: Mapping[int, Setting], seed: int) -> tuple[FloatArray, FloatArray]:
        """Return the data (n, d) and the coefficients (d, d), zero for mechanisms without any.

        Every node draws from a stream of its own, parameters first: what one node consumes, n or an
        intervention never shifts the numbers of another.
        """
        X = np.empty((n, dag.n_nodes), order="F")  # columns are read and written whole
        coefficients = np.zeros((dag.n_nodes, dag.n_nodes))
        streams = np.random.SeedSequence(seed).spawn(dag.n_nodes)
        # One thread gives the same bits on any number of cores, and does not wait for busy ones.
        # Overflow is refused by name.
        with _thread_pools().limit(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
            for node in topological_order(dag).tolist():
                rng = np.random.default_rng(streams[node])
                parents = np.flatnonzero(dag.adjacency[:, node])
                values = X.T[parents].T  # (n, p)
                if self.mechanisms[node] in SIGNALS:
                    signal = self._signal(node, values, rng)
                else:
                    coefficients[parents, node] = draw_weights(len(parents), self.ranges, rng)
                    signal = values @ coefficients[parents, node]
                _check_finite(signal, dag.label(node))
                X[:, node] = self._respond(node, signal, settings.get(node), rng)
                _check_finite(X[:, node], dag.label(node))
        return X, coefficients

    def _signal(self, node: int, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The nonlinear part of the parents, 0 without any."""
        if not values.shape[1]:
            return np.zeros(len(values))
        return SIGNALS[self.mechanisms[node]](values, self.ranges, rng)

    def _respond(
        self, node: int, signal: FloatArray, setting: Setting | None, rng: np.random.Generator
    ) -> FloatArray:
        """Values of a node given the signal of its parents and what was done to it."""
        if setting is not None:
            signal[setting.rows] = 0.0  # cut from its parents
        if self.mechanisms[node] in OUTCOMES:
            column = OUTCOMES[self.mechanisms[node]](signal, rng)
        else:
            column = signal + self.scales[node] * NOISES[self.noises[node]](rng, len(signal))
        if setting is not None:
            given = ~np.isnan(setting.values)
            column[setting.rows[given]] = setting.values[given]
        return column


def _check_finite(values: FloatArray, name: str) -> None:
    """Refuse values that left the range of floats."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"the values of column {name} overflow, since they grow along the graph: "
            "give ranges of weights nearer to 0, or a graph with fewer edges."
        )


@cache
def _thread_pools() -> ThreadpoolController:
    """The loaded linear algebra libraries, looked up once."""
    return ThreadpoolController()
