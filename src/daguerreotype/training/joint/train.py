"""Joint training: gradient steps on theta and on the edges that all orderings share (eq. 9)."""

import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.gradient.descent import choose_device
from daguerreotype.edges.gradient.gates import make_gates
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.distribution import Operator
from daguerreotype.training.checkpoint import describe_run
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.history import Step
from daguerreotype.training.joint.models import Tensor, make_model
from daguerreotype.training.joint.objective import JointObjective, OpenGates, RequiredGates
from daguerreotype.training.joint.state import Best, JointState, start_state
from daguerreotype.training.objective import Smooth
from daguerreotype.training.run import Phase, Run
from daguerreotype.training.schedule import ApproximateConvergence, Schedule
from daguerreotype.training.warm_start import warm_settings

logger = logging.getLogger("daguerreotype")


@dataclass(frozen=True)
class JointTraining:
    """What joint training found.

    Attributes
    ----------
    theta : array of shape (d,)
        Scores after the last step.
    order : array of shape (d,)
        Most probable order of the last step.
    best_theta, best_order : array of shape (d,)
        The same where the smoothed objective was lowest, or of the last step if edges keep the last model; all
        that follows belongs to them.
    gates : array of shape (d, d)
        One where the edge from i to j is open, in whatever order allows it, else zero; so are forbidden edges.
    weights : array of shape (d, d)
        Strengths of the open edges that ``best_order`` allows; exactly zero elsewhere.
    parameters : dict of arrays
        All edge parameters by name, those of the gates among them.
    steps : list of Step
        What each step saw. Their ``hits`` and ``misses`` count the pairs (ranking, node) so far that shared
        the computation of another, and those that were computed.
    interrupted : bool
        Whether Ctrl-C ended training.
    best_distribution : OrderDistribution or None
        That of ``best_order`` from an operator that began where it ended; None from one that knows no past.
    """

    theta: FloatArray
    order: IntArray
    best_theta: FloatArray
    best_order: IntArray
    gates: FloatArray
    weights: FloatArray
    parameters: dict[str, FloatArray]
    steps: list[Step]
    interrupted: bool
    best_distribution: OrderDistribution | None = None


def train_joint(
    table: Table,
    edges: Any,
    operator: Operator,
    theta: FloatArray,
    objective: Smooth,
    schedule: Schedule,
    *,
    gates_held: int | None = None,
    constraints: Constraints = FREE,
    run: Run | None = None,
    phase: Phase = "train",
    checkpoint_every: int | None = None,
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
    objective : Smooth
        What an ordering loses.
    schedule : Schedule
        Temperature, learning rate of theta, the weight of its squared norm, and when to stop.
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
    checkpoint_every : int or None
        Save every so many steps; without it, by the clock. And at the end.
    """
    edges.check()
    run = Run() if run is None else run
    device = choose_device(edges)
    model = make_model(table, edges, device)
    gates = OpenGates() if edges.pruning == 0 else make_gates(edges.gates)
    rules = constraints.rules
    if rules is not None and rules.anything_required:
        gates = RequiredGates(gates, torch.from_numpy(rules.required).to(device))
    held = gates_held
    if edges.pruning == 0:
        held = 0
    elif held is None:
        held = model.learns_in if edges.warm_up else 0
    allowed = None if rules is None else rules.allowed
    shares = None if table.rows_per_node is None else table.rows_per_node / table.n_rows
    expected = JointObjective(model, gates, edges, objective, schedule.l2, allowed, shares)
    stopping = ApproximateConvergence(schedule.tolerance, schedule.patience)
    state = start_state(expected, edges, operator, theta, device, schedule.rate, stopping, constraints)
    file = None
    if run.checkpoint is not None:
        settings: dict[str, Any] = {"rate": schedule.rate, "l2": schedule.l2, "loss": repr(objective)}
        settings |= {"tolerance": schedule.tolerance, "patience": schedule.patience, "gates_held": held}
        settings |= warm_settings(operator)
        start = operator(state.theta, schedule.tau(0))
        known = describe_run(
            table, edges, start, theta, schedule.tau, device=device, **settings, **constraints.settings()
        )
        file = run.checkpoint.stage(phase, known, every=checkpoint_every, strict=phase == "train")
        saved = file.load()
        if saved is not None:
            state.restore(*saved)
            logger.info("training goes on from step %d of %s.", len(state.steps), run.checkpoint.path)
    interrupted = False
    max_iter = schedule.max_iter
    try:
        while not state.converged and len(state.steps) < max_iter:
            temperature = schedule.tau(len(state.steps))
            orders = state.orders(state.theta, temperature)
            _step(state, expected, orders, temperature, held, edges.keep == "last")
            n_steps = len(state.steps)
            if file is not None and file.due(n_steps):
                file.save(*state.state())
            elif file is not None and (state.converged or n_steps == max_iter):
                file.keep(*state.state())
            run.tell(phase, state.steps[-1])
    except KeyboardInterrupt:
        interrupted = True
        logger.warning("interrupted after %d steps: the best order so far is kept.", len(state.steps))
    return _result(state, expected, interrupted)


def _step(
    state: JointState,
    objective: JointObjective,
    distribution: OrderDistribution,
    tau: float,
    held: int,
    keep_last: bool,
) -> None:
    """Look at the objective, remember it, and move unless it has stopped falling."""
    d = state.theta.size
    noise = torch.rand((d, d), generator=state.generator, device=state.flat.device, dtype=state.flat.dtype)
    found = objective.evaluate(state.theta, distribution, state.flat, noise, len(state.steps))
    if not math.isfinite(found.objective):
        raise ValueError(
            f"the objective of joint training is {found.objective} after {len(state.steps)} steps: lower the "
            "learning_rate of the edges, or choose dtype='float64'."
        )
    mode = distribution.mode_index
    last = state.steps[-1] if state.steps else None
    shared, computed = (last.hits, last.misses) if last else (0, 0)
    shared += len(distribution) * d - found.n_computed
    seen = len(distribution), tau, shared, computed + found.n_computed, state.theta.copy()
    step = Step(found.objective, float(found.losses[mode]), *seen)
    state.steps.append(step)
    state.order = distribution.mode
    smoothed = state.smooth(found.objective)
    undecided = len(state.steps) <= held
    if undecided or keep_last or smoothed < state.best.objective:
        lowest = math.inf if undecided else smoothed
        state.best = Best(lowest, state.theta, state.order, state.flat.clone(), state.orders.last)
    state.converged = not undecided and state.stopping.update(found.objective if keep_last else smoothed)
    if not state.converged:
        gates = objective.views(state.flat)["gates"]
        before = gates.clone()
        state.theta = state.constraints.project(state.adam.step(state.theta, found.by_theta))
        state.optimizer.step(state.flat, found.by_edges)
        if undecided:
            gates.copy_(before)
        objective.gates.keep_valid(gates)


def _result(state: JointState, objective: JointObjective, interrupted: bool) -> JointTraining:
    """The state as arrays; a closed gate or a forbidden edge is a weight of zero."""
    best = state.best
    parameters = objective.views(best.flat)
    gates = objective.gates.most_probable(parameters["gates"])
    ranks = np.argsort(best.order)
    gates = gates * torch.from_numpy(objective.hashes.allowed).to(gates.device)
    precedes = torch.from_numpy(ranks[:, None] < ranks).to(gates.device)
    strengths = objective.model.strengths(parameters)
    weights = torch.where(precedes & (gates > 0), strengths, torch.zeros_like(strengths))

    def array(tensor: Tensor) -> FloatArray:
        values: FloatArray = tensor.to("cpu", torch.float64).numpy()
        return values

    return JointTraining(
        theta=state.theta,
        order=state.order,
        best_theta=best.theta,
        best_order=best.order,
        gates=array(gates),
        weights=array(weights),
        parameters={name: array(each) for name, each in parameters.items()},
        steps=state.steps,
        interrupted=interrupted,
        best_distribution=best.distribution,
    )
