"""Joint training: gradient steps on theta and on the edges that all orderings share (eq. 9)."""

import logging
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.gradient.descent import BernoulliGates, Optimizer, choose_device
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.distribution import Operator
from daguerreotype.training.bilevel import Adam, ApproximateConvergence, restore_steps, save_steps
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.joint.model import JointObjective, Tensor, make_model
from daguerreotype.training.methods import Bilevel, Joint
from daguerreotype.training.objective import Smooth
from daguerreotype.training.run import Phase, Run, Step

logger = logging.getLogger("daguerreotype")

MEMORY = 0.95  # share of the past in the smoothed objective: it looks back about 20 steps


@dataclass(frozen=True)
class Best:
    """Where the smoothed objective was lowest; replaced as a whole, so that Ctrl-C never mixes two."""

    objective: float
    theta: FloatArray
    order: IntArray
    flat: Tensor


@dataclass
class JointState:
    """All that changes during training."""

    theta: FloatArray
    flat: Tensor
    adam: Adam
    optimizer: Optimizer
    generator: torch.Generator
    stopping: ApproximateConvergence
    best: Best
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
        arrays |= {"theta": self.theta, "best_theta": self.best.theta, "best_order": self.best.order}
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

        self.theta, self.flat = arrays["theta"], tensor("flat")
        best_theta, best_order = arrays["best_theta"], arrays["best_order"]
        self.best = Best(header["best_objective"], best_theta, best_order, tensor("best_flat"))
        self.optimizer.mean, self.optimizer.square = tensor("mean"), tensor("square")
        self.optimizer.count = header["count"]
        self.generator.set_state(torch.from_numpy(arrays["generator"]))
        self.steps = restore_steps(arrays, header, self.adam, self.stopping)
        self.smoothed, self.converged = header["smoothed"], header["converged"]


@dataclass(frozen=True)
class JointTraining:
    """What joint training found.

    Attributes
    ----------
    theta : array of shape (d,)
        Scores after the last step.
    best_theta, best_order : array of shape (d,)
        Scores and their most probable order where the smoothed objective was lowest, or of the last step if edges
        keep the last model; all that follows belongs to them.
    gates : array of shape (d, d)
        Whether the edge from i to j is open, in whatever order allows it; forbidden ones are not.
    parameters : dict of arrays
        All edge parameters by name, those of the gates among them.
    steps : list of Step
        What each step saw. Their ``hits`` and ``misses`` count the pairs (ranking, node) so far that shared
        the computation of another, and those that were computed.
    interrupted : bool
        Whether Ctrl-C ended training.
    """

    theta: FloatArray
    best_theta: FloatArray
    best_order: IntArray
    gates: BoolArray
    parameters: dict[str, FloatArray]
    steps: list[Step]
    interrupted: bool

    @property
    def opened(self) -> BoolArray:
        """Whether i is a parent of j (d, d) in the best order: the gate is open, and i comes first."""
        ranks = np.argsort(self.best_order)
        opened: BoolArray = self.gates & (ranks[:, None] < ranks)
        return opened


def train_joint(
    table: Table,
    edges: Any,
    operator: Operator,
    theta: FloatArray,
    loss: Smooth,
    training: Bilevel | Joint,
    *,
    tau: float,
    gates_held: int | None = None,
    constraints: Constraints = FREE,
    run: Run | None = None,
    phase: Phase = "train",
) -> JointTraining:
    r"""Minimise the expected loss of orderings over theta and the edges that all of them share.

    Solves the problem of :class:`JointObjective` (eq. 9) by Adam on theta with its rate and by the optimizer of
    ``edges`` with its own rate, on one sample of the gates and one minibatch per step. Training has converged
    when ``patience`` steps have not lowered the exponential mean of the objective (over about 20 steps: single
    values are noisy) by the tolerance; the point of the lowest mean is kept. Without pruning all gates are open.

    Gates are drawn from the first step on, but stay undecided for ``gates_held`` steps: before the weights have
    learned anything the only force on a gate is its penalty, and Adam would close it within a few steps for good.
    Edges without a warm-up are not held. Those that keep the last model have the last point of training, too,
    which stops by the objective itself.

    Parameters
    ----------
    table : Table
        The data.
    edges : GradientEdges
        Settings of the edges; those with an attribute ``hidden`` are neural, others linear.
    operator : callable (theta, tau) -> OrderDistribution
        Scores to orderings.
    theta : array of shape (d,)
        Scores to start from.
    loss : Smooth
        What an ordering loses.
    training : Bilevel or Joint
        Learning rate of theta, the weight of its squared norm, and when to stop.
    tau : float
        Temperature of the operator.
    gates_held : int, optional
        Steps before the gates begin to move; by default 100 for linear edges and 200 for neural ones, and none
        without a warm-up. No point before that counts as the best, and training does not stop before.
    constraints : Constraints
        What orders and edges obey, given that the operator's orders do: forbidden edges take no part, the gates
        of required ones never close and cost nothing, and theta is projected after each step.
    run : Run, optional
        Whom to tell every step, and the file that the whole state is saved to. If it exists, training goes on from
        it and ends, on the same device, exactly as if it had never stopped; ``max_iter`` may differ: to train on.
    phase : str
        What the display calls this training.
    """
    edges.check()
    run, device = Run() if run is None else run, choose_device(edges)
    model = make_model(table, edges, device)
    if edges.pruning == 0:
        gates_held = 0
    elif gates_held is None:
        gates_held = model.learns_in if edges.warm_up else 0
    shares = None if table.rows_per_node is None else table.rows_per_node / table.n_rows
    objective = JointObjective(model, BernoulliGates(), edges, loss, training.l2, constraints, shares)
    state = _begin(objective, edges, constraints.project(np.array(theta, dtype=np.float64)), training, device)
    file = run.stage(phase, {"theta": theta.tolist(), "gates_held": gates_held, "device": device})
    saved = file.load()
    if saved is not None:
        state.restore(*saved)
        logger.info("training goes on from step %d.", len(state.steps))
    interrupted = False
    try:
        while not state.converged and len(state.steps) < training.max_iter:
            orders = operator(state.theta, tau)
            _step(state, objective, orders, gates_held, edges.keep == "last")
            file.keep(state.state, always=state.converged or len(state.steps) == training.max_iter)
            run.tell(phase, state.steps[-1])
    except KeyboardInterrupt:
        interrupted = True
    best = state.best
    parameters = {
        name: values.to("cpu", torch.float64).numpy() for name, values in objective.views(best.flat).items()
    }
    opened = objective.open_gates(best.flat)
    return JointTraining(state.theta, best.theta, best.order, opened, parameters, state.steps, interrupted)


def _begin(
    objective: JointObjective, edges: Any, theta: FloatArray, training: Bilevel | Joint, device: str
) -> JointState:
    """The state before the first step, at scores that obey."""
    generator = torch.Generator(device)
    generator.manual_seed(int(edges.random_state))
    flat = torch.zeros(sum(objective.sizes), device=device, dtype=getattr(torch, edges.dtype))
    parameters = objective.views(flat)
    objective.model.fill(parameters, generator)
    parameters["gates"].copy_(objective.gates.start(objective.shapes["gates"], device, flat.dtype))
    return JointState(
        theta=theta,
        flat=flat,
        adam=Adam(theta.size, training.learning_rate),
        optimizer=Optimizer(flat, edges),
        generator=generator,
        stopping=ApproximateConvergence(training.tol, training.patience),
        best=Best(math.inf, theta, objective.constraints.sort(theta), flat.clone()),
    )


def _step(
    state: JointState, objective: JointObjective, distribution: OrderDistribution, held: int, keep_last: bool
) -> None:
    """Look at the objective, remember it, and move unless it has stopped falling."""
    d = state.theta.size
    noise = torch.rand((d, d), generator=state.generator, device=state.flat.device, dtype=state.flat.dtype)
    seen = objective.evaluate(state.theta, distribution, state.flat, noise, len(state.steps))
    if not math.isfinite(seen.objective):
        raise ValueError(
            f"the objective of joint training is {seen.objective} after {len(state.steps)} steps: lower the "
            "learning_rate of the edges, or choose dtype='float64'."
        )
    last = state.steps[-1] if state.steps else None
    shared, computed = (last.hits, last.misses) if last else (0, 0)
    state.steps.append(
        Step(
            seen.objective,
            mode_loss=float(seen.losses[distribution.mode_index]),
            support=len(distribution),
            hits=shared + len(distribution) * d - seen.n_computed,
            misses=computed + seen.n_computed,
            theta=state.theta.copy(),
        )
    )
    smoothed = state.smooth(seen.objective)
    undecided = len(state.steps) <= held
    if undecided or keep_last or smoothed < state.best.objective:
        lowest = math.inf if undecided else smoothed
        state.best = Best(lowest, state.theta, distribution.mode, state.flat.clone())
    state.converged = not undecided and state.stopping.update(seen.objective if keep_last else smoothed)
    if not state.converged:
        gates = objective.views(state.flat)["gates"]
        before = gates.clone()
        state.theta = objective.constraints.project(state.adam.step(state.theta, seen.by_theta))
        state.optimizer.step(state.flat, seen.by_edges)
        if undecided:
            gates.copy_(before)
        objective.gates.keep_valid(gates)
