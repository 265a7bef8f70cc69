"""Longer posteriors of what was learned: of the table itself, or averaged over resamples of its rows."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.checks import check_count, check_positive_int, check_seed
from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.labels import plural
from daguerreotype._lib.progress import ProgressBar
from daguerreotype._lib.store import digest, plain_setting
from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.bootstrap.resampling import DRAWS, Draws, Record, learn_resamples
from daguerreotype.data.table import Table
from daguerreotype.pipeline import fit_table
from daguerreotype.posterior.record import MOST_GRAPHS, Posterior
from daguerreotype.posterior.sample import draw_graphs, long_effort
from daguerreotype.result import FitResult
from daguerreotype.training.plan import make_plan
from daguerreotype.training.run import Run, running

logger = logging.getLogger("daguerreotype")


def sample_posterior(
    learner: Any,
    n_sweeps: int | None,
    n_chains: int,
    bagged: int,
    random_state: int,
    n_jobs: int | None,
    resume: Any,
) -> Posterior:
    """What ``Daguerreotype.sample_posterior`` samples."""
    check_count(bagged, "bagged")
    default = 100 if bagged else max(16_000 // learner.n_features_in_, 400)
    sweeps = check_positive_int(default if n_sweeps is None else n_sweeps, "n_sweeps")
    check_positive_int(n_chains, "n_chains")
    seed, settings = check_seed(random_state), learner._settings() | {"n_jobs": n_jobs}
    with running(settings, resume) as (run, bar):
        if bagged:
            posterior = _bagged(learner._table, settings, bagged, sweeps, seed, run, bar)
        else:
            posterior = _longer(learner._result, sweeps, n_chains, seed, run, bar)
        return replace(posterior, interrupted=True) if run.cancel.answered() else posterior


def _longer(result: FitResult, n_sweeps: int, n_chains: int, seed: int, run: Run, bar: ProgressBar) -> Posterior:
    """The posterior around what a fit found."""
    training = result.training
    if training.scores is None:
        raise ValueError(
            "there is nothing to sample graphs from: the learner was loaded from a file, which holds no rows, or "
            "was trained jointly. Fit it, with training='bilevel'; posterior_ is the posterior of its own fit."
        )
    settings: dict[str, Any] = {"n_sweeps": n_sweeps, "n_chains": n_chains, "seed": seed}
    settings |= {"order": training.order.tolist(), "loss": training.loss}
    advance, percent = bar.task("graphs", 100), 0

    def show(share: float) -> None:
        nonlocal percent
        advance(round(100 * share) - percent)
        percent = round(100 * share)

    stage = run.stage("posterior", settings, strict=True)
    scores = replace(training.scores, run=Run(run.n_jobs, cancel=run.cancel))
    effort = long_effort(scores, n_sweeps, n_chains)
    posterior = draw_graphs(training, scores, effort, seed=seed, n_jobs=run.n_jobs, stage=stage, progress=show)
    return result.labelled(posterior)


def _bagged(
    table: Table | None,
    settings: Mapping[str, Any],
    n_resamples: int,
    n_sweeps: int,
    seed: int,
    run: Run,
    bar: ProgressBar,
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
    draws = Draws(table.n_rows, table.n_rows, True, seed)
    records, interrupted = learn_resamples(
        partial(_learn, table, settings, draws),
        n_resamples,
        n_jobs=run.n_jobs,
        run=run,
        settings=lambda: _described(settings, seed, table),
        advance=bar.task("resamples", n_resamples),
    )
    if not records:
        raise KeyboardInterrupt
    if interrupted:
        logger.warning("interrupted: averaged over %d resample%s.", len(records), plural(len(records)))
    average = _average([arrays for arrays, _ in records], [header for _, header in records])
    return replace(average, names=table.labels, named=table.named, interrupted=interrupted)


def _described(settings: Mapping[str, Any], seed: int, table: Table) -> dict[str, Any]:
    """What a resample depends on, by name."""
    named = {name: plain_setting(value) for name, value in settings.items()}
    intervened = {} if table.intervened is None else {"digest of interventions": digest(table.intervened)}
    return {**named, "seed": seed, "digest of the data": digest(table.values), **intervened}


def _learn(table: Table, settings: Mapping[str, Any], draws: Draws, index: int) -> Record:
    """What is needed of the posterior of one resample."""
    stream = draws.stream(index)
    for _ in range(DRAWS):  # of rows among which a column is constant, others take the place
        drawn = table.rows(draws.rows(stream))
        if np.all(np.nanmax(drawn.values, axis=0) > np.nanmin(drawn.values, axis=0)):
            break
    cancel = CancelToken()
    with cancel.listening():  # in a process of its own, maybe
        plan = make_plan(settings, drawn)
        result = fit_table(drawn, plan, Run(cancel=cancel))
    if result.training.interrupted:
        raise KeyboardInterrupt
    posterior = result.posterior
    if posterior is None:
        raise ValueError(
            "this learner has no posterior to average: its loss is no sum over columns, or it is joint."
        )
    arrays = {"edges": posterior.probabilities}
    arrays |= {name: getattr(posterior, name) for name in ("ancestors", "graphs", "weights")}
    return arrays, {"n_sets": posterior.n_sets, "n_sweeps": posterior.n_sweeps}


def _average(posteriors: list[Arrays], counts: list[Header]) -> Posterior:
    """The average; where one would look at chains, halves of the resamples are compared."""
    n = len(posteriors)
    edges = np.stack([posterior["edges"] for posterior in posteriors])  # (b, d, d)
    halves = [edges[::2], edges[1::2]] if n > 1 else [edges]
    graphs, weights = _merged(
        np.concatenate([posterior["graphs"] for posterior in posteriors]),
        np.concatenate([posterior["weights"] for posterior in posteriors]) / n,
    )
    return Posterior(
        names=(),
        named=False,
        sampled=edges.mean(axis=0),
        edges=np.stack([half.mean(axis=0) for half in halves]),
        errors=edges.std(axis=0, ddof=min(1, n - 1)) / np.sqrt(n),
        ancestors=np.mean([posterior["ancestors"] for posterior in posteriors], axis=0),
        graphs=graphs,
        weights=weights,
        n_sweeps=counts[0]["n_sweeps"],
        n_sets=sum(count["n_sets"] for count in counts),
        n_bagged=n,
    )


def _merged(graphs: BoolArray, weights: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Each graph once, the most probable first."""
    different, inverse = np.unique(graphs.reshape(len(graphs), -1), axis=0, return_inverse=True)
    totals: FloatArray = np.bincount(inverse.ravel(), weights=weights).astype(np.float64)
    most = np.argsort(-totals, kind="stable")[:MOST_GRAPHS]
    return different[most].reshape(-1, *graphs.shape[1:]), totals[most]
