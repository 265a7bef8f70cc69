"""The joint objective written the slow and obvious way, and the settings that joint training is tried with."""

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from daguerreotype.edges import GradientEdges, Table
from daguerreotype.edges.gradient.descent import BernoulliGates
from daguerreotype.operators import Sparsemax
from daguerreotype.training.checkpoint import Checkpoint
from daguerreotype.training.joint.train import train_joint
from daguerreotype.training.methods import Bilevel
from daguerreotype.training.objective import make_objective
from daguerreotype.training.run import Run
from support.fits import brief
from support.rankings import all_rankings


@dataclass(frozen=True, kw_only=True)
class Linear(GradientEdges):
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class Mlp(GradientEdges):
    hidden: int = 3
    activation: str = "sigmoid"
    device: str = "cpu"


KINDS = {"linear": Linear, "mlp": Mlp}
ACTIVATIONS = {"sigmoid": torch.sigmoid, "leaky-relu": torch.nn.functional.leaky_relu}
LOSSES = ("nll_ev", "nll_nv", "mse")
SETTINGS = {"dtype": "float64", "pruning": 0.3, "l2": 0.2}


class SmoothGates(BernoulliGates):
    """Gates held at their parameters, so that the objective is smooth."""

    def draw(self, parameters, noise):
        return parameters, torch.ones_like(parameters)


def centred_table(values):
    return Table(values - values.mean(axis=0), tuple(f"x{j}" for j in range(values.shape[1])))


def train(
    table,
    edges,
    operator=None,
    theta=None,
    *,
    loss="nll_ev",
    checkpoint=None,
    seconds=30.0,
    progress=None,
    **changes,
):
    """Joint training for 40 steps, of which gates move in 30; ``changes`` of its numbers and of the call."""
    start = np.zeros(table.n_columns) if theta is None else theta
    numbers = {name: changes.pop(name) for name in list(changes) if name in Bilevel.__dataclass_fields__}
    objective = make_objective(loss, 0.0)
    # One thread as in the learner: threads only wait for each other on problems of this size.
    with threadpool_limits(1), ExitStack() as files:
        file = None if checkpoint is None else files.enter_context(Checkpoint(checkpoint, seconds=seconds))
        run = Run(checkpoint=file, show=lambda _, seen: None if progress is None else progress(seen))
        settings = {"gates_held": 10, "run": run, "tau": 1.0} | changes
        return train_joint(table, edges, operator or Sparsemax(10), start, objective, brief(**numbers), **settings)


def dense_probs(theta, tau):
    """Sparsemax over the scores of all d! rankings, differentiable by autograd."""
    ranks = torch.from_numpy(all_rankings(len(theta)))
    scores = (ranks + 1).to(theta.dtype) @ theta / tau
    z = scores.sort(descending=True).values
    cumulated = z.cumsum(0)
    count = torch.arange(1, len(z) + 1)
    size = int((1 + count * z > cumulated).nonzero().max()) + 1
    return (scores - (cumulated[size - 1] - 1) / size).clamp(min=0), ranks


def dense_predictions(x, parameters, gates, precedes, activation):
    """What the edges of one ranking predict of every column, from a masked copy of the data per node."""
    columns = []
    for j in range(x.shape[1]):
        if "weights" in parameters:
            columns.append(x @ (parameters["weights"][:, j] * gates[:, j] * precedes[:, j]))
            continue
        masked = x * precedes[:, j]
        inputs = torch.einsum("ni,i,ih->nh", masked, gates[:, j], parameters["input"][:, j])
        hidden = ACTIVATIONS[activation](inputs + parameters["hidden_bias"][j])
        columns.append(hidden @ parameters["output"][j] + parameters["output_bias"][j])
    return torch.stack(columns, dim=1)


def dense_decay(theta, parameters, l2, edges):
    """Squares of the scores and of the weights, each at its price."""
    weights = [parameters[name] for name in ("weights", "input", "output") if name in parameters]
    return l2 * theta @ theta + edges.l2 * sum(weight.square().sum() for weight in weights)


def dense_objective(x, theta, parameters, gates, opened, *, loss, edges, l2, tau=1.0, kept=None):
    """The objective of joint training over all rankings, with these gates, differentiable by autograd.

    ``kept`` (n, d) says in which rows a column's own residuals count; all if it is None.
    """
    n, d = x.shape
    kept = torch.ones((n, d), dtype=torch.bool) if kept is None else kept
    counts = kept.sum(0).to(x.dtype)
    probs, rankings = dense_probs(theta, tau)
    total = dense_decay(theta, parameters, l2, edges)
    for prob, ranks in zip(probs, rankings, strict=True):
        precedes = (ranks[:, None] < ranks[None, :]).to(x.dtype)
        residuals = x - dense_predictions(x, parameters, gates, precedes, getattr(edges, "activation", None))
        columns = [residuals[kept[:, j], j] for j in range(d)]
        if "weights" in parameters:  # linear edges have their intercept in the centring of the rows
            columns = [column - column.mean() for column in columns]
        squares = torch.stack([column.square().sum() for column in columns])
        lost = {
            "nll_ev": 0.5 * counts.sum() / n * (squares.sum() / counts.sum()).log(),
            "nll_nv": (0.5 * counts / n * (squares / counts).log()).sum(),
            "mse": 0.5 * squares.sum() / n,
        }[loss]
        total = total + prob * (lost + edges.pruning * (opened * precedes).sum())
    return total
