"""Gated neural edges, trained by gradient."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from daguerreotype._lib.checks import Check, check_parameters, check_positive_int, one_of
from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeRules, LocalFit
from daguerreotype.edges.gradient.descent import (
    ACTIVATIONS,
    Networks,
    Request,
    Tensor,
    choose_device,
    descend,
    seed_of,
)
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.predictors import MlpFit, NetworkPredictor, chunks

# Hidden values of all requests that train together: what a CPU's cache and a GPU's memory take.
HIDDEN_VALUES = {"cpu": 2**20, "cuda": 2**28}


@dataclass(frozen=True, kw_only=True)
class MlpEdges(GradientEdges):
    r"""Parents of a network with one hidden layer, one L0 gate per parent: the paper's "non-linear" (appendix D).

    For node j on predecessors P, minimises over weights and gate parameters, one sample of z per step,

    .. math:: \mathbb{E}_{z \sim \pi} \Big[ \tfrac{1}{2n} \sum_r (x_{rj} - f(x_r \circ z))^2 \Big]
              + \lambda \sum_{i \in P} \Pr(z_i > 0) + l_2 (\|W\|^2 + \|v\|^2), \qquad
              f(x) = c + v^\top a(b + W^\top x)

    By default the network trains with all gates open, then with gates that start undecided, then on with the gates
    fixed of the best model seen: open ones are the parents. With ``warm_up=False`` gates move from the first step,
    and with ``keep="last"`` the network after the last step is the result. The weight of a parent is the mean over
    rows of the slope of f in it, its norm the root mean square of that slope times the spread of the column.
    Without ``pruning`` all gates stay open.

    Parameters
    ----------
    hidden : int
        Hidden units. The paper's 50 follow most curves; fewer train faster.
    activation : {"sigmoid", "leaky-relu"}
        The sigmoid is that of the paper's text, the leaky unit that of its code.
    gate_slope : {"difference", "straight-through"}
        How a gate learns: from the difference that opening it makes, one gate per step, or from the slope
        of the loss in its value, all gates in each step, as in the paper.
    pruning, l2, l2_norm, optimizer, learning_rate, warm_up, keep, final_fit, max_iter, tol, patience, \
    batch_size, device, dtype, random_state
        See :class:`~daguerreotype.edges.GradientEdges`. All requests of one call train as one batch on
        the device, as far as memory goes. With ``batch_size`` the objective is looked at on one batch of rows.

    Notes
    -----
    The straight-through slope of a binary gate is what opening it does to first order: nothing, when the effect
    of the parent is even. So a step takes the exact difference in one gate, all gates in turn.

    Degrees of freedom are the effective parameters of the output layer, the trace of
    :math:`C (C + 2 l_2 I)^{-1}` with C the covariance of the hidden units, and at least one per parent: what the
    network can move of its fit at the penalty that ``l2`` sets. A network that explains nothing has no parents.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.edges import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] = x[:, 0] ** 2 + 0.1 * x[:, 2]
    >>> models = MlpEdges(hidden=10).prepare(Table(x - x.mean(axis=0), ("a", "b", "c")))
    >>> models.fit(2, np.array([0, 1])).parents
    array([0])
    """

    learning_rate: float = 0.03  # the linear estimator's 0.1 jumps about
    patience: int = 50
    hidden: int = 50
    activation: Literal["sigmoid", "leaky-relu"] = "sigmoid"
    gate_slope: Literal["difference", "straight-through"] = "difference"

    published: ClassVar[Mapping[str, Any]] = {
        **GradientEdges.published,
        "activation": "leaky-relu",
        "gate_slope": "straight-through",
    }

    def check(self) -> None:
        """Refuse settings that no training could use, before any work."""
        super().check()
        own: dict[str, Check] = {
            "hidden": check_positive_int,
            "activation": one_of(*ACTIVATIONS),
            "gate_slope": one_of("difference", "straight-through"),
        }
        check_parameters(vars(self), own)

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> "MlpModels":
        """Check the settings and put the rows on the device. The gates of required parents never close."""
        self.check()
        return MlpModels(self, table, rules)


class MlpModels(NetworkPredictor):
    """Gated networks on the rows of one table."""

    can = MlpEdges.can

    def __init__(self, edges: MlpEdges, table: Table, rules: EdgeRules | None = None) -> None:
        super().__init__(edges.activation)
        self.edges, self.table, self.device = edges, table, choose_device(edges)
        self.dtype: torch.dtype = getattr(torch, edges.dtype)
        # Rows are put in an order of their own, then shuffled: the table's order plays no part.
        rows = np.random.default_rng(edges.random_state).permutation(np.lexsort(table.values.T))
        values = np.column_stack([table.values[rows], np.ones(table.n_rows)])
        self.values = torch.tensor(values, dtype=self.dtype, device=self.device)  # (n, d + 1)
        self.batch_size = min(edges.batch_size or table.n_rows, table.n_rows)
        d = table.n_columns
        self.required = np.zeros((d, d), dtype=np.bool_) if rules is None else rules.required

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors``."""
        return self.fit_many([(node, predecessors)])[0]

    def fit_many(self, requests: Sequence[Request]) -> list[LocalFit]:
        """What ``fit`` gives for each request, but for rounding; all are trained together."""
        requests = [(int(node), np.array(columns, dtype=np.int64)) for node, columns in requests]
        fits: list[LocalFit] = [self._without_effect(node) for node, _ in requests]
        waiting = [b for b, (_, columns) in enumerate(requests) if columns.size]
        group = max(HIDDEN_VALUES[self.device] // (self.batch_size * self.edges.hidden), 1)
        for first in range(0, len(waiting), group):
            places = waiting[first : first + group]
            for b, fit in zip(places, self._train([requests[b] for b in places]), strict=True):
                fits[b] = fit
        return fits

    def _train(self, requests: Sequence[Request]) -> Iterator[LocalFit]:
        """Fits of requests with predecessors, trained as one batch."""
        edges, d = self.edges, self.table.n_columns
        seeds = torch.tensor(
            [seed_of(edges.random_state, node, columns) for node, columns in requests], device=self.device
        )
        nodes = torch.tensor([node for node, _ in requests], device=self.device)
        mask = torch.zeros((len(requests), d), dtype=self.dtype, device=self.device)
        for b, (_, columns) in enumerate(requests):
            mask[b, torch.from_numpy(columns).to(self.device)] = 1.0
        l2, output_l2 = edges.penalty_of_squares(d, d, edges.hidden), 1.0 if edges.l2_norm == "sum" else float(d)
        problem = Networks(
            self.values, nodes, edges.hidden, edges.activation, l2, self.batch_size, output_l2=output_l2
        )
        if edges.warm_up:
            # A gate on weights that have learned nothing yet closes, and what is closed does not learn.
            weights, gates = descend(problem, problem.start(seeds, mask), mask, seeds, edges, gated=False)
        else:
            weights, gates = problem.start_silent(seeds, mask), mask
        if edges.pruning > 0:  # else no gate gains by closing
            required = mask * torch.from_numpy(self.required.T).to(self.device, self.dtype)[nodes]
            weights, gates = descend(
                self._gated(problem, mask), weights, mask, seeds, edges, gated=True, required=required
            )
            if edges.keep == "best":
                weights, _ = descend(problem, weights, gates, seeds, edges, gated=False)
        elif not edges.warm_up:
            weights, _ = descend(problem, weights, gates, seeds, edges, gated=False)
        first, output = problem.parts(weights.double())
        arrays = first.cpu().numpy(), output.cpu().numpy(), gates.cpu().numpy()
        for (node, _), inputs, outputs, opened in zip(requests, *arrays, strict=True):
            yield self._finish(node, np.flatnonzero(opened), inputs, outputs.copy())

    def fit_from(self, node: int, parents: IntArray, parameters: Mapping[str, FloatArray]) -> LocalFit:
        """The fit on these parents with the network that was trained for this node along with all others."""
        inputs = np.vstack([parameters["input"][:, node], parameters["hidden_bias"][node]])  # (d + 1, hidden)
        outputs = np.append(parameters["output"][node], parameters["output_bias"][node])
        return self._finish(node, parents, inputs, outputs)

    def _gated(self, problem: Networks, mask: Tensor) -> Networks:
        """The networks with their gates to take turns, unless these learn from slopes."""
        if self.edges.gate_slope == "straight-through":
            return problem
        turns = torch.argsort(mask, dim=1, descending=True, stable=True)  # predecessors first
        return replace(problem, turns=turns, counts=mask.sum(dim=1).long())

    def _finish(self, node: int, parents: IntArray, inputs: FloatArray, outputs: FloatArray) -> LocalFit:
        """The record of a trained network: exact bias, variance and degrees of freedom on all rows."""
        if parents.size == 0:
            return self._without_effect(node)
        inputs = inputs[np.append(parents, -1)]  # (p + 1, hidden)
        n, total = self.table.n_rows, np.zeros(self.edges.hidden + 1)
        square = np.zeros((total.size, total.size))
        slope, steep = np.zeros((2, parents.size))  # sums of slopes, and of their squares
        for rows in chunks(n):
            hidden = self.hidden_units(inputs, self.table.values[rows][:, parents])
            columns = np.column_stack([hidden, self.table.values[rows, node]])
            total += columns.sum(axis=0)
            square += columns.T @ columns
            slopes = self.slopes(inputs, outputs, hidden)
            slope += slopes.sum(axis=0)
            steep += (slopes**2).sum(axis=0)
        mean = total / n
        covariance = square / n - np.outer(mean, mean)  # of the hidden units and the node
        # Of all biases this one leaves least, and residuals of mean zero.
        outputs[-1] = mean[-1] - mean[:-1] @ outputs[:-1]
        weights, norms = slope / n, np.sqrt(steep / n * self.table.moments[parents, parents])
        fit = MlpFit(parents, weights, 0.0, 0.0, inputs, outputs)
        variance = float(np.mean(self.residuals(node, fit) ** 2))
        if not variance < self.table.moments[node, node]:
            return self._without_effect(node)
        spread = np.maximum(np.linalg.eigvalsh(covariance[:-1, :-1]), 0.0)
        floor = max(
            2 * self.edges.penalty_of_squares(self.table.n_columns, self.edges.hidden),
            np.finfo(np.float64).eps * spread.sum(),
        )
        dof = max(float(np.sum(spread / (spread + floor))), float(parents.size))
        variance = max(variance, float(np.finfo(np.float64).tiny))
        return MlpFit.gaussian(parents, weights, variance, dof, inputs, outputs, norms=norms)

    def _without_effect(self, node: int) -> MlpFit:
        """The mean, which is zero: no parents, or required ones that have no weight."""
        hidden = self.edges.hidden
        variance = float(self.table.moments[node, node])
        parents = np.flatnonzero(self.required[:, node])
        p = parents.size
        network = np.zeros((p + 1, hidden)), np.zeros(hidden + 1)
        return MlpFit.gaussian(parents, np.zeros(p), variance, float(p), *network)

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Residuals of ``fit`` on the training rows, shape (n,)."""
        return self.table.values[:, node] - self.predict(node, fit, self.table.values)
