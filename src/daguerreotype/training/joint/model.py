r"""The objective of joint training: edge functions shared by all orderings, with their gradients written out.

All rankings of a distribution share one set of edge parameters; a ranking only decides which parents a node may
use. So the residual of a node depends on the *set* of its predecessors alone, and of the m * d pairs (ranking,
node) at most d + 2 m are distinct where rankings follow from each other by adjacent swaps. Only those are
computed.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.gradient.descent import ACTIVATIONS, BernoulliGates
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.interventional import group_tables
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.objective import Smooth
from daguerreotype.training.scores import PredecessorHash

Tensor: TypeAlias = torch.Tensor
Parameters: TypeAlias = dict[str, Tensor]
Pullback: TypeAlias = Callable[[Tensor], tuple[Parameters, Tensor]]

KEPT_BYTES = {"cpu": 2**29, "cuda": 2**33}  # hidden activations kept from the losses for the gradient
BLOCK_BYTES = {"cpu": 2**20, "cuda": 2**28}  # those computed at once: what fits a cache, what fills a GPU


@dataclass(frozen=True)
class LocalProblems:
    """The distinct pairs (node, set of predecessors) among all rankings of a distribution.

    Attributes
    ----------
    nodes : array of shape (c,)
        The node of each pair.
    allowed : array of shape (c, d)
        Which nodes precede it and may be its parents.
    index : array of shape (m, d)
        The pair that each node of each ranking is.
    """

    nodes: IntArray
    allowed: BoolArray
    index: IntArray

    @classmethod
    def of(cls, distribution: OrderDistribution, hashes: PredecessorHash) -> "LocalProblems":
        """Find them by the hash of the predecessors that are allowed to be parents."""
        ranks = distribution.ranks
        m, d = ranks.shape
        _, first, index = np.unique(hashes.keys(ranks).ravel(), return_index=True, return_inverse=True)
        rankings, nodes = np.divmod(first, d)
        allowed = (ranks[rankings] < ranks[rankings, nodes, None]) & hashes.allowed.T[nodes]
        return cls(nodes, allowed, index.reshape(m, d))

    def tensors(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Nodes (c,), masks (c, d) and the matrix (d, c) that sums up what belongs to the same node."""
        nodes = torch.from_numpy(self.nodes).to(like.device)
        allowed = torch.from_numpy(self.allowed).to(like.device, like.dtype)
        # A product with zeros and ones: unlike scattered sums it gives the same bits each time, on a GPU too.
        belongs = torch.arange(like.shape[0], device=like.device)[:, None] == nodes
        return nodes, allowed, belongs.to(like.dtype)


class LinearModel:
    r"""Linear edges :math:`x_j = \sum_i z_{ij} W_{ij} x_i + e_j`, from the second moments C = X'X / n alone.

    ``gates[i, j]`` multiplies what i contributes to j. With a the gated and masked weights of one problem, the
    residual variance is :math:`C_{jj} - 2 a^\top C_j + a^\top C a` and its gradient :math:`2 (C a - C_j)`. Where
    rows were intervened on, C is that of the rows that count for the node.
    """

    biases: dict[str, tuple[int, ...]] = {}
    learns_in = 100  # steps after which the gates can tell what an edge is worth

    def __init__(self, table: Table, device: str, dtype: torch.dtype) -> None:
        d = table.n_columns
        # Names and shapes of what the squared norm keeps small.
        self.weights: dict[str, tuple[int, ...]] = {"weights": (d, d)}
        group: IntArray = np.zeros(d, dtype=np.int64)
        tables = [table]
        if table.intervened is not None:
            group, _, tables = group_tables(table)
        self.group = torch.from_numpy(group).to(device)
        self.moments = torch.from_numpy(np.stack([part.moments for part in tables])).to(device, dtype)  # (g, d, d)

    def fill(self, parameters: Parameters, generator: torch.Generator) -> None:
        """Start from weights of zero."""
        parameters["weights"].zero_()

    def variances(
        self, parameters: Parameters, gates: Tensor, problems: LocalProblems, step: int
    ) -> tuple[Tensor, Pullback]:
        """Residual variances (c,) of all problems, and what pulls a gradient of theirs (c,) back; of all rows."""
        weights = parameters["weights"]
        nodes, allowed, belongs = problems.tensors(weights)
        used = (weights * gates).T.index_select(0, nodes) * allowed  # (c, d)
        group = self.group[nodes]
        moments = self.moments[group, nodes]  # (c, d)
        slopes = self._times_moments(used, group) - moments  # (c, d)
        own = moments.gather(1, nodes[:, None])[:, 0]
        variances = own + (used * (slopes - moments)).sum(1)
        # A perfect fit leaves rounding, which may be negative.
        variances = torch.maximum(variances, torch.finfo(own.dtype).eps * own)

        def pull_back(gradient: Tensor) -> tuple[Parameters, Tensor]:
            of_used = ((2 * gradient)[:, None] * slopes).mul_(allowed)
            shared = (belongs @ of_used).T  # (d, d)
            return {"weights": shared * gates}, shared * weights

        return variances, pull_back

    def _times_moments(self, used: Tensor, group: Tensor) -> Tensor:
        """Rows (c, d), each times the moments of its group."""
        if len(self.moments) == 1:
            return used @ self.moments[0]
        product = torch.empty_like(used)
        for number, moments in enumerate(self.moments):
            mine = (group == number).nonzero()[:, 0]
            product[mine] = used[mine] @ moments
        return product


class MlpModel:
    r"""Locally connected networks :math:`x_j = b_j + v_j^\top h(c_j + \sum_i z_{ij} U_{ij} x_i) + e_j`.

    A gate and a mask multiply the input weights :math:`U_{ij}` (hidden,) of one parent: the data are never
    copied. Activations of a block of problems and rows are held at a time; those of all blocks are kept for the
    gradient if they fit ``kept_bytes``, else computed twice. With ``batch_size`` each step sees its own rows:
    every pass through the table is shuffled anew and cut into batches. Values intervened on leave no residual.
    """

    learns_in = 200

    def __init__(self, table: Table, edges: Any, device: str, dtype: torch.dtype) -> None:
        d, h = table.n_columns, int(edges.hidden)
        self.weights: dict[str, tuple[int, ...]] = {"input": (d, d, h), "output": (d, h)}
        self.biases: dict[str, tuple[int, ...]] = {"hidden_bias": (d, h), "output_bias": (d,)}
        self.activate, self.derivative = ACTIVATIONS[edges.activation]
        self.hidden, self.device, self.dtype, self.silent = h, device, dtype, not edges.warm_up
        self.kept_bytes, self.block_bytes = KEPT_BYTES[device], BLOCK_BYTES[device]
        self.values, self.intervened, self.seed = table.values, table.intervened, int(edges.random_state)
        self.batch_size = min(edges.batch_size or table.n_rows, table.n_rows)
        self._all = self._to_device(table.values) if self.batch_size == table.n_rows else None
        self._epoch = -1
        self._shuffled: IntArray = np.empty(0, dtype=np.int64)

    def fill(self, parameters: Parameters, generator: torch.Generator) -> None:
        """Random hidden units that nothing listens to yet; without a warm-up they also hear little."""
        if self.silent:
            bound = 1 / (parameters["input"].shape[0] * self.hidden**0.5)
            parameters["input"].uniform_(-bound, bound, generator=generator)
            return  # all else is zero
        # Standardized inputs through half of the gates then have unit variance.
        bound = (6 / parameters["input"].shape[0]) ** 0.5
        parameters["input"].uniform_(-bound, bound, generator=generator)
        parameters["hidden_bias"].uniform_(-bound, bound, generator=generator)
        parameters["output"].zero_()
        parameters["output_bias"].zero_()

    def _to_device(self, values: Any) -> Tensor:
        return torch.from_numpy(values).to(self.device, self.dtype)

    def rows(self, step: int) -> Tensor:
        """The rows (b, d) of one step; they follow from the seed and the step alone."""
        if self._all is not None:
            return self._all
        return self._to_device(self.values[self._chosen(step)])

    def counted(self, step: int) -> Tensor | None:
        """Ones (b, d) where the values of the rows of one step count for their column; None if all do."""
        if self.intervened is None:
            return None
        rows = slice(None) if self._all is not None else self._chosen(step)
        return self._to_device(~self.intervened[rows])

    def _chosen(self, step: int) -> IntArray:
        """Which rows (b,) they are, ascending."""
        n = self.values.shape[0]
        epoch, batch = divmod(step, n // self.batch_size)
        if epoch != self._epoch:
            self._epoch = epoch
            self._shuffled = np.random.default_rng([self.seed, epoch]).permutation(n)
        return np.sort(self._shuffled[batch * self.batch_size : (batch + 1) * self.batch_size])

    def _blocks(self, c: int, b: int) -> Iterator[tuple[slice, slice]]:
        """Slices of problems and rows whose activations are computed at once."""
        most = max(self.block_bytes // self.dtype.itemsize // self.hidden, 1)
        rows = min(b, most)
        problems = max(most // rows, 1)
        for first in range(0, c, problems):
            for row in range(0, b, rows):
                yield slice(first, min(first + problems, c)), slice(row, min(row + rows, b))

    def variances(
        self, parameters: Parameters, gates: Tensor, problems: LocalProblems, step: int
    ) -> tuple[Tensor, Pullback]:
        """Residual variances and their pullback on the rows of this step."""
        x = self.rows(step)  # (b, d)
        nodes, allowed, belongs = problems.tensors(x.T)
        gated = (parameters["input"] * gates[:, :, None]).transpose(0, 1)  # (d nodes, d parents, h)
        used = gated.index_select(0, nodes).mul_(allowed[:, :, None])  # (c, d, h)
        bias = parameters["hidden_bias"].index_select(0, nodes)[:, None]  # (c, 1, h)
        output = parameters["output"].index_select(0, nodes)[:, :, None]  # (c, h, 1)
        c, b = nodes.shape[0], x.shape[0]

        def activations(chosen: slice, rows: slice) -> Tensor:
            inputs = x[rows].expand(chosen.stop - chosen.start, -1, -1)
            return self.activate(torch.baddbmm(bias[chosen], inputs, used[chosen]))  # (problems, rows, h)

        blocks = list(self._blocks(c, b))
        keep = c * b * self.hidden * self.dtype.itemsize <= self.kept_bytes
        kept: dict[int, Tensor] = {}
        residuals = (x.T - parameters["output_bias"][:, None]).index_select(0, nodes)  # (c, b)
        for number, (chosen, rows) in enumerate(blocks):
            active = activations(chosen, rows)
            residuals[chosen, rows] -= torch.bmm(active, output[chosen])[:, :, 0]
            if keep:
                kept[number] = active
        counted = self.counted(step)
        n_counted: Any = b
        if counted is not None:
            counted = counted.T.index_select(0, nodes)  # (c, b)
            residuals *= counted
            n_counted = counted.sum(1).clamp_(min=1)  # a small batch may have no row for a node

        def pull_back(gradient: Tensor) -> tuple[Parameters, Tensor]:
            of_predictions = residuals * (-2 / n_counted * gradient)[:, None]  # (c, b)
            of_used, of_bias, of_output = (torch.zeros_like(parameter) for parameter in (used, bias, output))
            for number, (chosen, rows) in enumerate(blocks):
                active = kept[number] if keep else activations(chosen, rows)
                weight = of_predictions[chosen, rows]
                of_output[chosen] += torch.bmm(active.transpose(1, 2), weight[:, :, None])
                of_hidden = self.derivative(active).mul_(weight[:, :, None])
                inputs = x[rows].T.expand(chosen.stop - chosen.start, -1, -1)
                of_used[chosen] += torch.bmm(inputs, of_hidden)
                of_bias[chosen] += of_hidden.sum(1, keepdim=True)
            listening = output.transpose(1, 2)  # (c, 1, h): common to all rows, so multiplied last
            of_used.mul_(listening).mul_(allowed[:, :, None])
            shared = (belongs @ of_used.flatten(1)).view(gated.shape).transpose(0, 1)  # (parents, nodes, h)
            gradients = {
                "input": shared * gates[:, :, None],
                "output": belongs @ of_output[:, :, 0],
                "hidden_bias": belongs @ (of_bias * listening)[:, 0],
                "output_bias": belongs @ of_predictions.sum(1),
            }
            return gradients, (shared * parameters["input"]).sum(2)

        if counted is None:
            return residuals.square().mean(1), pull_back
        # Without any row the variance may be anything but zero: its gradient is.
        return (residuals.square().sum(1) + (counted.sum(1) == 0)) / n_counted, pull_back


JointModel: TypeAlias = LinearModel | MlpModel


def make_model(table: Table, edges: Any, device: str) -> JointModel:
    """The model of gradient-trained edges: neural if they have hidden units."""
    dtype: torch.dtype = getattr(torch, edges.dtype)
    return MlpModel(table, edges, device, dtype) if hasattr(edges, "hidden") else LinearModel(table, device, dtype)


@dataclass(frozen=True)
class Evaluation:
    """The joint objective at one point, its gradients, and what a history keeps of it."""

    objective: float
    losses: FloatArray  # (m,), without the penalty of gates
    by_theta: FloatArray  # (d,)
    by_edges: Tensor  # flat
    n_computed: int


class JointObjective:
    r"""Expected loss of orderings whose edges share their parameters.

    .. math:: \sum_s p_s(\theta) \Big[ L(\sigma_s; w \circ z) + \lambda \sum_{i \prec_s j} \Pr(z_{ij} > 0) \Big]
              + l_2^\theta \|\theta\|^2 + l_2^w \|w\|^2

    for one sample of the gates z, with the mean of squares of each layer of w in place of their sum where
    ``edges`` say so. The loss L is an objective of :mod:`daguerreotype.training.objective` of the likelihoods that
    the shared edges leave when each node uses its predecessors in the ordering alone. Gates of required edges
    never close and cost nothing; without a penalty of gates, that is all of them.
    """

    def __init__(
        self,
        model: JointModel,
        gates: BernoulliGates,
        edges: GradientEdges,
        loss: Smooth,
        l2: float,
        constraints: Constraints = FREE,
        shares: FloatArray | None = None,
    ) -> None:
        self.model, self.gates, self.loss, self.l2 = model, gates, loss, l2
        self.constraints = constraints
        self.shares = shares  # of the rows that count for each node
        self.pruning, self.l2_edges = edges.pruning, edges.l2
        self.mean_squares = edges.l2_norm == "mean"
        d = next(iter(model.weights.values()))[0]
        rules = constraints.rules
        self.hashes = PredecessorHash(d, None if rules is None else rules.allowed)
        self.always_open = torch.full((d, d), edges.pruning == 0)
        if rules is not None:
            self.always_open |= torch.from_numpy(rules.required)
        self.shapes = {**model.weights, **model.biases, "gates": (d, d)}
        self.sizes = [math.prod(shape) for shape in self.shapes.values()]
        self.weight_sizes = self.sizes[: len(model.weights)]  # they come first in the flat vector
        self.n_weights = sum(self.weight_sizes)

    def views(self, flat: Tensor) -> Parameters:
        """The parameters by name, all sharing the memory of one flat vector."""
        pieces = torch.split(flat, self.sizes)
        return {name: piece.view(shape) for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)}

    def evaluate(
        self, theta: FloatArray, distribution: OrderDistribution, flat: Tensor, noise: Tensor, step: int
    ) -> Evaluation:
        """Value and gradients, with the gates that uniform ``noise`` (d, d) draws."""
        parameters = self.views(flat)
        problems = LocalProblems.of(distribution, self.hashes)
        nodes, allowed, belongs = problems.tensors(noise)
        drawn, slope = self.gates.draw(parameters["gates"], noise)
        always_open = self.always_open.to(flat.device)
        drawn, slope = drawn.masked_fill(always_open, 1.0), slope.masked_fill(always_open, 0.0)
        variances, pull_back = self.model.variances(parameters, drawn, problems, step)
        expected = self.gates.expected_open(parameters["gates"]).masked_fill(always_open, 0.0)
        opened = (expected.T.index_select(0, nodes) * allowed).sum(1)
        weights = flat[: self.n_weights]
        weighed = self._weighed(weights)
        # One transfer from the device: variances, penalties and the squared norm.
        seen = torch.cat([variances, opened, (weights @ weighed)[None]]).to("cpu", torch.float64).numpy()
        c, index, probs = problems.nodes.size, problems.index, distribution.probs
        # An exact fit leaves nothing, but a likelihood needs something.
        remaining = np.maximum(seen[:c], np.finfo(np.float64).tiny)[index]  # (m, d)
        everywhere = np.ones(remaining.shape[1]) if self.shares is None else self.shares
        with np.errstate(invalid="ignore"):  # a run that diverges is refused by its loss
            losses, by_excess = self.loss.slopes(0.5 * np.log(remaining), everywhere)
        slopes = by_excess * (0.5 / remaining)  # of the losses in the variances
        penalized = losses + self.pruning * seen[c:-1][index].sum(axis=1)
        objective = float(probs @ penalized + self.l2 * theta @ theta + self.l2_edges * seen[-1])

        shares = np.stack([(probs[:, None] * slopes).ravel(), np.repeat(probs, index.shape[1])])
        summed = np.stack([np.bincount(index.ravel(), share, c) for share in shares])
        by_variances, mass = torch.from_numpy(summed).to(flat.device, flat.dtype)
        gradients, by_drawn = pull_back(by_variances)
        by_opened = (belongs @ (allowed * mass[:, None])).T * self.pruning  # (d, d)
        open_slope = self.gates.open_slope(parameters["gates"]).masked_fill(always_open, 0.0)
        gradients["gates"] = by_drawn * slope + by_opened * open_slope
        by_edges = torch.cat([gradients[name].reshape(-1) for name in self.shapes])
        by_edges[: self.n_weights].add_(weighed, alpha=2 * self.l2_edges)
        by_theta = distribution.vjp(penalized) + 2 * self.l2 * theta
        return Evaluation(objective, losses, by_theta, by_edges, c)

    def open_gates(self, flat: Tensor) -> BoolArray:
        """Which edges (d, d) are open after training, in whatever order allows them; forbidden ones are not."""
        gates = self.gates.most_probable(self.views(flat)["gates"]).cpu().masked_fill(self.always_open, 1.0)
        opened: BoolArray = (gates > 0).numpy() & self.hashes.allowed
        return opened

    def _weighed(self, weights: Tensor) -> Tensor:
        """Weights over the size of their layer, if its mean squares count."""
        if not self.mean_squares:
            return weights
        return torch.cat([layer / layer.numel() for layer in torch.split(weights, self.weight_sizes)])
