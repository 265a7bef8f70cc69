"""The objective of joint training: the expected loss of orderings that share edges, with its gradients."""

import math
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.edges.gradient.gates import BernoulliGates, Gates
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.joint.models import JointModel, LocalProblems, Parameters, Tensor
from daguerreotype.training.objective import Smooth
from daguerreotype.training.predecessor_hash import PredecessorHash


class OpenGates(BernoulliGates):
    """Gates that never close: nothing is gained by closing one that costs nothing."""

    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """Ones."""
        return torch.ones(shape, device=device, dtype=dtype)

    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Ones, whatever the noise."""
        return torch.ones_like(parameters), torch.zeros_like(parameters)


class RequiredGates(Gates):
    """Gates of which some never close, and cost nothing: those of required edges (d, d)."""

    def __init__(self, gates: Gates, required: Tensor) -> None:
        self.gates, self.required = gates, required

    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """As the others start."""
        return self.gates.start(shape, device, dtype)

    def sample(self, parameters: Tensor, generator: torch.Generator) -> Tensor:
        """Ones where required."""
        return self.gates.sample(parameters, generator).masked_fill(self.required, 1.0)

    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Ones where required, whatever the noise."""
        drawn, slope = self.gates.draw(parameters, noise)
        return drawn.masked_fill(self.required, 1.0), slope.masked_fill(self.required, 0.0)

    def expected_open(self, parameters: Tensor) -> Tensor:
        """What is paid for: nothing for required ones."""
        return self.gates.expected_open(parameters).masked_fill(self.required, 0.0)

    def open_slope(self, parameters: Tensor) -> Tensor:
        """Zeros where required."""
        return self.gates.open_slope(parameters).masked_fill(self.required, 0.0)

    def keep_valid(self, parameters: Tensor) -> None:
        """As the others."""
        self.gates.keep_valid(parameters)

    def most_probable(self, parameters: Tensor) -> Tensor:
        """Ones where required."""
        return self.gates.most_probable(parameters).masked_fill(self.required, 1.0)


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
    the shared edges leave when each node uses its predecessors in the ordering alone.
    """

    def __init__(
        self,
        model: JointModel,
        gates: Gates,
        edges: GradientEdges,
        loss: Smooth,
        l2: float,
        allowed: BoolArray | None = None,
        shares: FloatArray | None = None,
    ) -> None:
        self.model, self.gates, self.loss, self.l2 = model, gates, loss, l2
        self.shares = shares  # of the rows that count for each node
        self.pruning, self.l2_edges = edges.pruning, edges.l2
        self.mean_squares = edges.l2_norm == "mean"
        d = next(iter(model.weights.values()))[0]
        self.hashes = PredecessorHash(d, allowed)
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
        variances, pull_back = self.model.variances(parameters, drawn, problems, step)
        opened = (self.gates.expected_open(parameters["gates"]).T.index_select(0, nodes) * allowed).sum(1)
        weights = flat[: self.n_weights]
        weighed = self._weighed(weights)
        # One transfer from the device: variances, penalties and the squared norm.
        seen = torch.cat([variances, opened, (weights @ weighed)[None]]).to("cpu", torch.float64).numpy()
        c, index, probs = problems.nodes.size, problems.index, distribution.probs
        # An exact fit leaves nothing, but a likelihood needs something.
        left = np.maximum(seen[:c], np.finfo(np.float64).tiny)[index]  # (m, d)
        everywhere = np.ones(left.shape[1]) if self.shares is None else self.shares
        with np.errstate(invalid="ignore"):  # a run that diverges is refused by its loss
            losses, by_excess = self.loss.slopes(0.5 * np.log(left), everywhere)
        slopes = by_excess * (0.5 / left)  # of the losses in the variances
        priced = losses + self.pruning * seen[c:-1][index].sum(axis=1)
        objective = float(probs @ priced + self.l2 * theta @ theta + self.l2_edges * seen[-1])

        shares = np.stack([(probs[:, None] * slopes).ravel(), np.repeat(probs, index.shape[1])])
        summed = np.stack([np.bincount(index.ravel(), share, c) for share in shares])
        by_variances, mass = torch.from_numpy(summed).to(flat.device, flat.dtype)
        gradients, by_drawn = pull_back(by_variances)
        by_opened = (belongs @ (allowed * mass[:, None])).T * self.pruning  # (d, d)
        gradients["gates"] = by_drawn * slope + by_opened * self.gates.open_slope(parameters["gates"])
        by_edges = torch.cat([gradients[name].reshape(-1) for name in self.shapes])
        by_edges[: self.n_weights].add_(weighed, alpha=2 * self.l2_edges)
        by_theta = distribution.vjp(priced) + 2 * self.l2 * theta
        return Evaluation(objective, losses, by_theta, by_edges, c)

    def _weighed(self, weights: Tensor) -> Tensor:
        """Weights over the size of their layer, if its mean squares count."""
        if not self.mean_squares:
            return weights
        return torch.cat([layer / layer.numel() for layer in torch.split(weights, self.weight_sizes)])
