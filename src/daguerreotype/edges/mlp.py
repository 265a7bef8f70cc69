"""Gated neural edges, trained by gradient."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from daguerreotype._lib.checks import Check, check_parameters, check_positive_int, one_of
from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeRules, LocalFit
from daguerreotype.edges.gradient.descent import (
    GatedRegressions,
    Request,
    Tensor,
    choose_device,
    descend,
    seed_of,
    uniforms,
)
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.predictors import LEAK, MlpFit, NetworkPredictor, chunks

# Hidden values of all requests that train together: what a CPU's cache and a GPU's memory take.
HIDDEN_VALUES = {"cpu": 2**20, "cuda": 2**28}


class Activation(NamedTuple):
    """A function of tensors, in place; its slope, from its value."""

    of_tensor: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


ACTIVATIONS = {
    "sigmoid": Activation(torch.sigmoid_, lambda h: torch.addcmul(h, h, h, value=-1)),
    "tanh": Activation(torch.tanh_, lambda h: 1 - h * h),
    "relu": Activation(torch.relu_, lambda h: (h > 0).to(h.dtype)),
    "leaky-relu": Activation(
        lambda h: torch.nn.functional.leaky_relu_(h, LEAK), lambda h: (h > 0).to(h.dtype).clamp_(min=LEAK)
    ),
}


@dataclass(frozen=True)
class Networks(GatedRegressions):
    r"""B networks  f(x) = c + v' a(b + W'(x * z)),  each of its own node on the same rows.

    A row of the weights (B, P) holds W and b as one matrix (d + 1, hidden), then v, then c. The data never
    take a shape larger than (B, rows, hidden).

    Attributes
    ----------
    values : tensor of shape (n, d + 1)
        Rows, with a last column of ones.
    nodes : tensor of shape (B,)
        The column that each network explains.
    hidden, activation : int, str
        Shape of the networks.
    l2, output_l2 : float
        Price of a squared weight of the first layer, and how many of those one of the output layer costs; biases
        are free.
    batch_size : int
        Rows of one step. Steps go through all rows in turn; the loss is that of the first batch.
    turns, counts : tensors of shape (B, d) and (B,), or None
        The gates of each network, as many as ``counts`` at the start of a row. If given, gates are binary and
        each step differentiates in one of them, in turn. A slope would not do: opening the gate of an even
        effect gains nothing to first order.
    """

    values: Tensor
    nodes: Tensor
    hidden: int
    activation: str
    l2: float
    batch_size: int
    output_l2: float = 1.0
    turns: Tensor | None = None
    counts: Tensor | None = None

    def start(self, seeds: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, P) to start from: uniform within 1 / sqrt(inputs) of each layer, zero off the mask."""
        size = self.values.shape[1] * self.hidden
        noise = 2 * uniforms(seeds, [-1], size + self.hidden, mask.dtype)[0] - 1
        first, output = noise[:, :size].view(len(seeds), -1, self.hidden), noise[:, size:]
        first = first * _with_one(mask)[:, :, None] / mask.sum(dim=1).clamp(min=1).sqrt()[:, None, None]
        bias = torch.zeros_like(output[:, :1])
        return torch.cat([first.flatten(1), output / self.hidden**0.5, bias], dim=1)

    def start_silent(self, seeds: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, P) of networks that say nothing yet: small random inputs on the mask, all else zero."""
        d = mask.shape[1]
        noise = 2 * uniforms(seeds, [-1], d * self.hidden, mask.dtype)[0] - 1
        first = noise.view(len(seeds), d, self.hidden) * mask[:, :, None] / (d * self.hidden**0.5)
        return torch.nn.functional.pad(first.flatten(1), (0, 2 * self.hidden + 1))

    def parts(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """First layers (B, d + 1, hidden) and output layers (B, hidden + 1)."""
        size = self.values.shape[1] * self.hidden
        return weights[:, :size].view(len(weights), -1, self.hidden), weights[:, size:]

    def loss(self, weights: Tensor, gates: Tensor) -> Tensor:
        """Half the mean squared residual plus the squared norm of W z and v, (B,)."""
        first, output = self.parts(weights)
        gated = first * _with_one(gates)[:, :, None]
        residuals, _ = self._forward(gated, output, self.values[: self.batch_size])
        norm = gated[:, :-1].square().sum(dim=(1, 2)) + self.output_l2 * output[:, :-1].square().sum(dim=1)
        return 0.5 * residuals.square().mean(dim=1) + self.l2 * norm

    def gradient(self, weights: Tensor, gates: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Derivatives of one step's loss in the weights (B, P) and in the gates (B, d)."""
        rows = self._rows(step)  # (m, d + 1)
        first, output = self.parts(weights)
        z = _with_one(gates)[:, :, None]
        residuals, hidden = self._forward(first * z, output, rows)
        by_turn = self._difference(first, output, gates, step, residuals)
        residuals = residuals / rows.shape[0]
        by_output = torch.cat([torch.bmm(residuals[:, None], hidden)[:, 0], residuals.sum(1, keepdim=True)], dim=1)
        slopes = ACTIVATIONS[self.activation].slope(hidden)  # (B, m, hidden)
        slopes.mul_(output[:, None, :-1]).mul_(residuals[:, :, None])
        by_product = torch.bmm(rows.T.expand(len(slopes), -1, -1), slopes)  # (B, d + 1, hidden)
        by_gates = (by_product[:, :-1] * first[:, :-1]).sum(dim=2) if by_turn is None else by_turn
        by_first = by_product.mul_(z)
        by_first[:, :-1].add_(first[:, :-1], alpha=2 * self.l2)
        by_output[:, :-1].add_(output[:, :-1], alpha=2 * self.l2 * self.output_l2)
        return torch.cat([by_first.flatten(1), by_output], dim=1), by_gates

    def _difference(
        self, first: Tensor, output: Tensor, gates: Tensor, step: int, residuals: Tensor
    ) -> Tensor | None:
        """What opening the gate whose turn it is adds to the loss, times the number of gates, (B, d)."""
        if self.turns is None or self.counts is None:
            return None
        turn = self.turns.gather(1, (step % self.counts)[:, None])  # (B, 1)
        now = gates.gather(1, turn)
        flipped = _with_one(gates.scatter(1, turn, 1 - now))[:, :, None]
        others, _ = self._forward(first * flipped, output, self._rows(step))
        change = 0.5 * (others.square() - residuals.square()).mean(dim=1, keepdim=True)
        return torch.zeros_like(gates).scatter_(1, turn, (1 - 2 * now) * change * self.counts[:, None])

    def _forward(self, gated: Tensor, output: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Fitted less seen values (B, m), and hidden units (B, m, hidden)."""
        hidden = torch.bmm(rows.expand(len(gated), -1, -1), gated)
        hidden = ACTIVATIONS[self.activation].of_tensor(hidden)
        fitted = torch.bmm(hidden, output[:, :-1, None])[:, :, 0] + output[:, -1:]
        return fitted - rows.T[self.nodes], hidden

    def _rows(self, step: int) -> Tensor:
        """The rows of one step; a last batch that is not full is left out."""
        first = step % (self.values.shape[0] // self.batch_size) * self.batch_size
        return self.values[first : first + self.batch_size]

    def select(self, kept: Tensor) -> "Networks":
        """The same of some of the networks."""
        turns = None if self.turns is None else self.turns[kept]
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, nodes=self.nodes[kept], turns=turns, counts=counts)


def _with_one(gates: Tensor) -> Tensor:
    """Gates (B, d + 1) of all inputs and of the bias, which has none."""
    return torch.nn.functional.pad(gates, (0, 1), value=1.0)


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
    activation : {"sigmoid", "tanh", "relu", "leaky-relu"}
        The sigmoid is that of the paper's text, the leaky unit that of its code.
    gate_slope : {"difference", "straight-through"}
        How a binary gate learns: from the difference that opening it makes, one gate per step, or from the slope
        of the loss in its value, all gates in each step, as in the paper.
    pruning, l2, l2_norm, gates, optimizer, learning_rate, warm_up, keep, final_fit, max_iter, tol, patience, \
    batch_size, device, dtype, random_state
        See :class:`~daguerreotype.edges.GradientEdges`. All requests of one call train as one batch on
        the device, as far as memory goes. With ``batch_size`` the objective is looked at on one batch of rows.

    Notes
    -----
    The straight-through slope of a binary gate is what opening it does to first order: nothing, when the effect
    of the parent is even. So a step takes the exact difference in one gate, all gates in turn. Gates of
    "hard-concrete" are seen half open, where slopes are enough.

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
    activation: Literal["sigmoid", "tanh", "relu", "leaky-relu"] = "sigmoid"
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
        """The networks with their gates to take turns, where gates are binary."""
        if self.edges.gates != "bernoulli" or self.edges.gate_slope == "straight-through":
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
            known = np.column_stack([hidden, self.table.values[rows, node]])
            total += known.sum(axis=0)
            square += known.T @ known
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
