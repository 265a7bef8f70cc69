"""The state of joint training: all that changes from step to step, and that a checkpoint must hold."""

import math
from dataclasses import dataclass, field

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.gradient.descent import Optimizer
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.operators.distribution import Operator, OrderDistribution
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.history import Step
from daguerreotype.training.joint.models import Tensor
from daguerreotype.training.joint.objective import JointObjective
from daguerreotype.training.schedule import Adam, ApproximateConvergence, restore_steps, save_steps
from daguerreotype.training.warm_start import OperatorSteps, restore_distribution, save_distribution

MEMORY = 0.95  # share of the past in the smoothed objective: it looks back about 20 steps


@dataclass(frozen=True)
class Best:
    """Where the smoothed objective was lowest; replaced as a whole, so that Ctrl-C never mixes two."""

    objective: float
    theta: FloatArray
    order: IntArray
    flat: Tensor
    distribution: OrderDistribution | None = None  # of the order, if only the steps before tell it


@dataclass
class JointState:
    """All that changes during training."""

    theta: FloatArray
    order: IntArray
    flat: Tensor
    adam: Adam
    optimizer: Optimizer
    generator: torch.Generator
    stopping: ApproximateConvergence
    best: Best
    orders: OperatorSteps
    constraints: Constraints = FREE
    smoothed: float = 0.0  # exponential sum, not yet divided by its weights
    converged: bool = False
    steps: list[Step] = field(default_factory=list)

    def smooth(self, objective: float) -> float:
        """Exponential mean of the objective, as if it had always looked back as far as it could."""
        self.smoothed = MEMORY * self.smoothed + (1 - MEMORY) * objective
        return self.smoothed / (1 - MEMORY ** len(self.steps))

    def state(self) -> tuple[Arrays, Header]:
        """The whole state as arrays and JSON values."""
        tensors = {
            "flat": self.flat,
            "best_flat": self.best.flat,
            "mean": self.optimizer.mean,
            "square": self.optimizer.square,
            "generator": self.generator.get_state(),
        }
        arrays, header = save_steps(self.steps, self.adam, self.stopping)
        arrays |= {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
        arrays |= {
            "theta": self.theta,
            "order": self.order,
            "best_theta": self.best.theta,
            "best_order": self.best.order,
        }
        arrays |= save_distribution("last", self.orders.last) | save_distribution("best", self.best.distribution)
        header |= {
            "count": self.optimizer.count,
            "best_objective": self.best.objective,
            "smoothed": self.smoothed,
            "converged": self.converged,
        }
        return arrays, header

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Go back to a saved state."""

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name]).to(self.flat.device)

        self.theta, self.order, self.flat = arrays["theta"], arrays["order"], tensor("flat")
        self.orders.last, found = (restore_distribution(name, arrays) for name in ("last", "best"))
        best_theta, best_order = arrays["best_theta"], arrays["best_order"]
        self.best = Best(header["best_objective"], best_theta, best_order, tensor("best_flat"), found)
        self.optimizer.mean, self.optimizer.square = tensor("mean"), tensor("square")
        self.optimizer.count = header["count"]
        self.generator.set_state(torch.from_numpy(arrays["generator"]))
        self.steps = restore_steps(arrays, header, self.adam, self.stopping)
        self.smoothed, self.converged = header["smoothed"], header["converged"]


def start_state(
    objective: JointObjective,
    edges: GradientEdges,
    operator: Operator,
    theta: FloatArray,
    device: str,
    rate: float,
    stopping: ApproximateConvergence,
    constraints: Constraints = FREE,
) -> JointState:
    """The state before the first step."""
    generator = torch.Generator(device)
    generator.manual_seed(int(edges.random_state))
    flat = torch.zeros(sum(objective.sizes), device=device, dtype=getattr(torch, edges.dtype))
    parameters = objective.views(flat)
    objective.model.fill(parameters, generator)
    parameters["gates"].copy_(objective.gates.start(objective.shapes["gates"], device, flat.dtype))
    theta = constraints.project(np.array(theta, dtype=np.float64))
    order = constraints.sort(theta)
    return JointState(
        theta=theta,
        order=order,
        flat=flat,
        constraints=constraints,
        adam=Adam(theta.size, rate),
        optimizer=Optimizer(flat, edges),
        generator=generator,
        stopping=stopping,
        best=Best(math.inf, theta, order, flat.clone()),
        orders=OperatorSteps(operator),
    )
