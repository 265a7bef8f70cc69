"""How are the ordering and the edges learned together? Gradient steps on theta and all edge parameters (eq. 9)."""

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.base import Table
from daguerreotype.edges.gradient.descent import choose_device
from daguerreotype.edges.gradient.gates import make_gates
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.bilevel import Operator
from daguerreotype.training.checkpoint import Checkpoint, describe_run
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.joint.models import Permitted, Tensor, make_model
from daguerreotype.training.joint.objective import (
    JointLoss,
    JointObjective,
    OpenGates,
    RequiredGates,
    joint_losses,
)
from daguerreotype.training.joint.state import Best, JointRun, start_run
from daguerreotype.training.schedule import ApproximateConvergence, Step

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
        The same where the smoothed objective was lowest; all that follows belongs to them.
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


def train_joint(
    table: Table,
    edges: Any,
    operator: Operator,
    theta: FloatArray,
    *,
    tau: Callable[[int], float],
    rate: float,
    l2: float,
    max_iter: int,
    tolerance: float,
    patience: int,
    loss: JointLoss = "nll_ev",
    gates_held: int | None = None,
    constraints: Constraints = FREE,
    progress: Callable[[Step], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float = 30.0,
) -> JointTraining:
    r"""Minimise the expected loss of orderings over theta and the edges that all of them share.

    Solves the problem of :class:`JointObjective` (eq. 9) by Adam on theta with ``rate`` and by the optimizer of
    ``edges`` with its own rate, on one sample of the gates and one minibatch per step. Training has converged
    when ``patience`` steps have not lowered the exponential mean of the objective (over about 20 steps: single
    values are noisy) by ``tolerance``; the point of the lowest mean is kept. Without pruning all gates are open.

    Gates are drawn from the first step on, but stay undecided for ``gates_held`` steps: before the weights have
    learned anything the only force on a gate is its price, and Adam would close it within a few steps for good.

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
    tau : callable
        Temperature by step.
    rate, l2 : float
        Learning rate of theta, and the weight of its squared norm.
    max_iter, tolerance, patience
        When to stop.
    loss : {"nll_ev", "nll_nv", "mse"}
        What an ordering loses.
    gates_held : int, optional
        Steps before the gates begin to move; by default 100 for linear edges and 200 for neural ones. No point
        before that counts as the best, and training does not stop before.
    constraints : Constraints
        What orders and edges obey, given that the operator's orders do: forbidden edges take no part, the gates
        of required ones never close and cost nothing, and theta is projected after each step.
    progress : callable, optional
        Is told every step.
    checkpoint : path, optional
        File that the whole state is saved to. If it exists, training goes on from it and ends, on the same
        device, exactly as if it had never stopped. ``max_iter`` may differ: to train on.
    checkpoint_every, checkpoint_seconds : int or None, float
        Save every so many steps; without it, every so many seconds. And at the end.
    """
    edges.check()
    device = choose_device(edges)
    joint_losses(np.ones((1, 1)), loss)  # refuses what it does not know
    model = make_model(table, edges, device)
    gates = OpenGates() if edges.pruning == 0 else make_gates(edges.gates)
    rules = constraints.rules
    if rules is not None and rules.anything_required:
        gates = RequiredGates(gates, torch.from_numpy(rules.required).to(device))
    held = 0 if edges.pruning == 0 else model.learns_in if gates_held is None else gates_held
    permitted = None if rules is None else Permitted(rules.allowed)
    shares = None if table.counted is None else table.counted / table.n_rows
    objective = JointObjective(model, gates, edges, loss, l2, permitted, shares)
    stopping = ApproximateConvergence(tolerance, patience)
    run = start_run(objective, edges, theta, device, rate, stopping, constraints)
    file = None
    if checkpoint is not None:
        settings: dict[str, Any] = {"rate": rate, "l2": l2, "loss": loss, "tolerance": tolerance}
        settings |= {"patience": patience, "gates_held": held, **constraints.settings()}
        start = operator(run.theta, tau(0))
        known = describe_run(table, edges, start, theta, tau, device=device, **settings)
        file = Checkpoint(checkpoint, known, every=checkpoint_every, seconds=checkpoint_seconds)
        saved = file.load()
        if saved is not None:
            run.restore(*saved)
            logger.info("training goes on from step %d of %s.", len(run.steps), file.path)
    interrupted = False
    try:
        while not run.converged and len(run.steps) < max_iter:
            temperature = tau(len(run.steps))
            _step(run, objective, operator(run.theta, temperature), temperature, held)
            if file is not None and (run.converged or len(run.steps) == max_iter or file.due(len(run.steps))):
                file.save(*run.state())
            if progress is not None:
                progress(run.steps[-1])
    except KeyboardInterrupt:
        interrupted = True
        logger.warning("interrupted after %d steps: the best order so far is kept.", len(run.steps))
    return _result(run, objective, interrupted)


def _step(
    run: JointRun, objective: JointObjective, distribution: OrderDistribution, tau: float, held: int
) -> None:
    """Look at the objective, remember it, and move unless it has stopped falling."""
    d = run.theta.size
    noise = torch.rand((d, d), generator=run.generator, device=run.flat.device, dtype=run.flat.dtype)
    found = objective.evaluate(run.theta, distribution, run.flat, noise, len(run.steps))
    if not math.isfinite(found.objective):
        raise ValueError(
            f"the objective of joint training is {found.objective} after {len(run.steps)} steps: lower the "
            "learning_rate of the edges, or choose dtype='float64'."
        )
    mode = distribution.mode_index
    last = run.steps[-1] if run.steps else None
    shared, computed = (last.hits, last.misses) if last else (0, 0)
    shared += len(distribution) * d - found.n_computed
    seen = len(distribution), tau, shared, computed + found.n_computed, run.theta.copy()
    step = Step(found.objective, float(found.losses[mode]), *seen)
    run.steps.append(step)
    run.order = distribution.mode
    smoothed = run.smooth(found.objective)
    undecided = len(run.steps) <= held
    if undecided or smoothed < run.best.objective:
        run.best = Best(math.inf if undecided else smoothed, run.theta, run.order, run.flat.clone())
    run.converged = not undecided and run.stopping.update(smoothed)
    if not run.converged:
        gates = objective.views(run.flat)["gates"]
        before = gates.clone()
        run.theta = run.constraints.project(run.adam.step(run.theta, found.by_theta))
        run.optimizer.step(run.flat, found.by_edges)
        if undecided:
            gates.copy_(before)
        objective.gates.keep_valid(gates)


def _result(run: JointRun, objective: JointObjective, interrupted: bool) -> JointTraining:
    """The run as arrays; a closed gate or a forbidden edge is a weight of zero."""
    best = run.best
    parameters = objective.views(best.flat)
    gates = objective.gates.most_probable(parameters["gates"])
    ranks = np.argsort(best.order)
    if objective.permitted is not None:
        gates = gates * torch.from_numpy(objective.permitted.edges).to(gates.device)
    precedes = torch.from_numpy(ranks[:, None] < ranks).to(gates.device)
    strengths = objective.model.strengths(parameters)
    weights = torch.where(precedes & (gates > 0), strengths, torch.zeros_like(strengths))

    def array(tensor: Tensor) -> FloatArray:
        values: FloatArray = tensor.to("cpu", torch.float64).numpy()
        return values

    return JointTraining(
        theta=run.theta,
        order=run.order,
        best_theta=best.theta,
        best_order=best.order,
        gates=array(gates),
        weights=array(weights),
        parameters={name: array(each) for name, each in parameters.items()},
        steps=run.steps,
        interrupted=interrupted,
    )
