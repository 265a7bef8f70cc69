"""Longer posteriors of what was learned: of the table itself, or averaged over bootstrap resamples of it."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from daguerreotype._lib.fingerprint import digest
from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.labels import plural
from daguerreotype._lib.progress import ProgressBar
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.data.table import Table
from daguerreotype.pipeline import fit_table, result_posterior
from daguerreotype.posterior import Posterior
from daguerreotype.posterior.record import MOST_GRAPHS
from daguerreotype.posterior.sample import long_effort
from daguerreotype.result import FitResult
from daguerreotype.training.checkpoint import Checkpoint, Stage
from daguerreotype.training.plan import joint_loss, make_plan
from daguerreotype.training.run import Run

logger = logging.getLogger("daguerreotype")

REDRAWS = 10  # of rows among which a column is constant


def longer_posterior(
    result: FitResult,
    n_sweeps: int,
    n_chains: int,
    *,
    seed: int,
    n_jobs: int,
    resume: Path | None,
    bar: ProgressBar,
    cancel: CancelToken,
) -> Posterior:
    """The posterior around what a fit found."""
    training = result.best.training
    if training.scores is None:
        raise ValueError(
            "there is nothing to sample graphs from: the learner was loaded from a file, which holds no rows, or "
            "was trained jointly. Fit it, with training='bilevel'; posterior_ is the posterior of its own fit."
        )
    told: dict[str, Any] = {"n_sweeps": n_sweeps, "n_chains": n_chains, "seed": seed}
    told |= {"order": training.order.tolist(), "loss": training.loss}
    task, done = bar.task("graphs", 100), 0

    def show(share: float) -> None:
        nonlocal done
        task(round(100 * share) - done)
        done = round(100 * share)

    scores = training.scores.again(Run(n_jobs, cancel=cancel))
    effort = long_effort(scores, n_sweeps, n_chains)
    with ExitStack() as files:
        file = None if resume is None else files.enter_context(Checkpoint(resume, seconds=5.0, cancel=cancel))
        stage = None if file is None else file.stage("posterior", told, strict=True)
        return result_posterior(result, scores, effort, seed=seed, n_jobs=n_jobs, stage=stage, progress=show)


def bagged_posterior(
    table: Table | None,
    settings: Mapping[str, Any],
    n_resamples: int,
    n_sweeps: int,
    *,
    seed: int,
    n_jobs: int,
    resume: Path | None,
    bar: ProgressBar,
    cancel: CancelToken,
) -> Posterior:
    """The average of the posteriors of resampled rows, each learned anew with the kinds of the whole table.

    Ctrl-C ends it with the resamples that there are.
    """
    if table is None or not table.holds_rows:
        raise ValueError(
            "bagged posteriors resample rows, but the learner was fitted without rows in memory, or loaded from a "
            "file. Fit it on rows."
        )
    settings = {**settings, "posterior": n_sweeps, "verbose": 0, "n_jobs": 1}
    named = {name: repr(value) for name, value in settings.items()}
    told = {**named, "seed": seed, "digest of data": digest(table.values)}
    with ExitStack() as files:
        file = None if resume is None else files.enter_context(Checkpoint(resume, cancel=cancel))
        stage = None if file is None else file.stage("bagged", told, strict=True)
        kept, interrupted = _learn_all(table, settings, n_resamples, seed, n_jobs, stage, bar, cancel)
    return replace(_average(kept[:n_resamples]), names=table.labels, named=table.named, interrupted=interrupted)


def _learn_all(
    table: Table,
    settings: Mapping[str, Any],
    n_resamples: int,
    seed: int,
    n_jobs: int,
    stage: Stage | None,
    bar: ProgressBar,
    cancel: CancelToken,
) -> tuple[list[dict[str, Any]], bool]:
    """What is needed of the posteriors of all resamples, and whether Ctrl-C ended it before its time."""
    saved = None if stage is None else stage.load()
    kept: list[dict[str, Any]] = [] if saved is None else _split(saved[0])
    task = bar.task("resamples", n_resamples)
    task(len(kept))
    todo = range(len(kept), n_resamples)
    interrupted = False
    try:
        calls = (delayed(_learn)(table, settings, seed, i) for i in todo)
        results = Parallel(n_jobs, return_as="generator")(calls)
        with closing(results):
            while True:
                with cancel.at_once():  # waits for other processes
                    each = next(results, None)
                if each is None:
                    break
                kept.append(each)
                task(1)
                if stage is not None:
                    stage.save(_joined(kept), {})
    except KeyboardInterrupt:
        if not kept:
            raise
        logger.warning("interrupted: averaged over %d resample%s.", len(kept), plural(len(kept)))
        interrupted = True
    return kept, interrupted


def _learn(table: Table, settings: Mapping[str, Any], seed: int, number: int) -> dict[str, Any]:
    """What is needed of the posterior of one resample."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    for _ in range(REDRAWS):
        drawn = table.take_rows(rng.integers(table.n_rows, size=table.n_rows))
        if np.all(np.nanmax(drawn.values, axis=0) > np.nanmin(drawn.values, axis=0)):
            break
    plan = make_plan(settings, drawn)
    loss = joint_loss(settings) if plan.joint else settings["loss"]
    cancel = CancelToken()
    with cancel.listening():  # in a process of its own, maybe
        result = fit_table(drawn, plan, Run(cancel=cancel), loss)
    if result.best.training.interrupted:
        raise KeyboardInterrupt
    found = result.posterior
    if found is None:
        raise ValueError(
            "this learner has no posterior to average: its loss is no sum over columns, or it is joint."
        )
    return {
        "edges": found.probabilities,
        "ancestors": found.ancestors,
        "graphs": found.graphs,
        "weights": found.weights,
        "n_sets": found.n_sets,
        "n_sweeps": found.n_sweeps,
    }


def _average(kept: list[dict[str, Any]]) -> Posterior:
    """The average; where one would look at chains, halves of the resamples are compared."""
    edges = np.stack([each["edges"] for each in kept])  # (b, d, d)
    halves = [edges[::2], edges[1::2]] if len(kept) > 1 else [edges]
    graphs, weights = _merged(
        np.concatenate([each["graphs"] for each in kept]),
        np.concatenate([each["weights"] for each in kept]) / len(kept),
    )
    return Posterior(
        names=(),
        named=False,
        sampled=edges.mean(axis=0),
        edges=np.stack([half.mean(axis=0) for half in halves]),
        errors=edges.std(axis=0, ddof=min(1, len(kept) - 1)) / np.sqrt(len(kept)),
        ancestors=np.mean([each["ancestors"] for each in kept], axis=0),
        graphs=graphs,
        weights=weights,
        n_sweeps=int(kept[0]["n_sweeps"]),
        n_sets=int(sum(each["n_sets"] for each in kept)),
        n_bagged=len(kept),
    )


def _merged(graphs: BoolArray, weights: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Each graph once, the most probable first."""
    different, inverse = np.unique(graphs.reshape(len(graphs), -1), axis=0, return_inverse=True)
    totals: FloatArray = np.bincount(inverse.ravel(), weights=weights).astype(np.float64)
    most = np.argsort(-totals, kind="stable")[:MOST_GRAPHS]
    return different[most].reshape(-1, *graphs.shape[1:]), totals[most]


def _joined(kept: list[dict[str, Any]]) -> dict[str, Any]:
    """What a file holds of the resamples."""
    return {f"{i}.{name}": np.asarray(value) for i, each in enumerate(kept) for name, value in each.items()}


def _split(arrays: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The resamples of a file."""
    kept: dict[int, dict[str, Any]] = {}
    for key, value in arrays.items():
        number, _, name = key.partition(".")
        kept.setdefault(int(number), {})[name] = value
    return [kept[number] for number in sorted(kept)]
