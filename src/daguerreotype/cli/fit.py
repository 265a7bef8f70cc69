"""The verb ``fit``: the graph behind the columns of a table.

What takes long to import is imported inside the functions: ``--help`` must come at once.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daguerreotype._lib.files import check_place
from daguerreotype._lib.progress import COMPILING, Status, show_status
from daguerreotype.cli import options
from daguerreotype.cli.errors import INTERRUPTED
from daguerreotype.cli.fit_output import FILES, FitOutput, save_fit, show_fit, to_json

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype import Daguerreotype
    from daguerreotype.bootstrap import Bootstrap
    from daguerreotype.data.readers import Input


@options.with_reading
def fit(
    data: options.DataArgument = None,
    edges: options.EdgesOption = options.Edges("gam"),
    operator: options.OperatorOption = options.Operator("sparsemax"),
    training: options.TrainingOption = options.Training("bilevel"),
    scales: options.ScalesOption = "auto",
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default="extended BIC",
            help="Penalty on a parameter, 1 is BIC. Higher: fewer edges, fewer wrong ones.",
        ),
    ] = None,
    trust: Annotated[
        float,
        typer.Option(
            metavar="ROWS",
            min=0.0,
            help="Rows of evidence that a table is at most: more where the model holds; 0: every row counts.",
        ),
    ] = 5000.0,
    min_gain: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=0.99,
            help="Share of what is left of an effect that an edge must explain: weaker ones are left out.",
        ),
    ] = 0.02,
    knowledge: options.KnowledgeOption = None,
    max_parents: options.MaxParentsOption = None,
    interventions: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column that names, row by row, the columns that an experiment intervened on: empty for none, "
            "a semicolon between several. For the Sachs network: target.",
        ),
    ] = None,
    kind: options.KindOption = [],  # noqa: B006
    seed: options.SeedOption = 0,
    posterior: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Sweeps of the sampler of graphs, which probabilities of edges are from. More are surer; 0: no "
            "probabilities.",
        ),
    ] = 100,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            help="Learn N times more from resampled rows: how often is each edge found again?",
        ),
    ] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Threads of the fit, and processes of the bootstrap; -1: one per core.",
        ),
    ] = None,
    truth: options.TruthOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            show_default=False,
            help="Write graph.csv, adjacency.csv, graph.dot, graph.png, model.npz and report.html there.",
        ),
    ] = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    **reading: Any,
) -> None:
    """Learn the graph behind the columns of a table.

    Without a file: the protein network of Sachs et al. (2005), which ships with the package.
    """
    with show_status(quiet) as status:
        # Imports take a second or two, while the spinner turns; a bad file is refused before the longest.
        kinds = options.read_kinds(kind)
        task = options.read_table(status, data, interventions, kinds, **reading)
        true_graph = options.read_truth(truth, task)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                check_place(out / name)
        from daguerreotype import Daguerreotype

        model = Daguerreotype(
            edges.value,
            operator=operator.value,
            training=training.value,
            scales=scales,  # type: ignore[arg-type]
            penalty=penalty,
            trust=trust or None,
            min_gain=min_gain,
            kinds=kinds or "auto",
            knowledge=options.read_knowledge(knowledge, max_parents),
            posterior=posterior,
            n_jobs=jobs,
            random_state=seed,
        )
        seconds = learn(model, task.table, status, task.interventions)
        _tell_about(model, status)
        interrupted = model.interrupted_
        resampled = None
        if bootstrap and not interrupted:
            resampled = resample(model, task, bootstrap, seed, jobs, status)
            interrupted = resampled is None or resampled.n_resamples < bootstrap
        outcome = FitOutput(model, task, true_graph, seconds, resampled)
        files: list[str] = []
        if out is not None:
            status(f"writing to {out}")
            try:
                for file in save_fit(outcome, out, status):
                    files.append(file)
            except KeyboardInterrupt:
                interrupted = True
                status.note(f"interrupted while files were written: only {len(files)} of them are in {out}.")
    if as_json:
        typer.echo(to_json(outcome, files, interrupted))
    else:
        show_fit(outcome, files=files)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _tell_about(model: "Daguerreotype", status: Status) -> None:
    """What a person should know of interventions and missing values."""
    intervened = model.columns_["intervened"]
    if intervened.any():
        listed = ", ".join(f"{name!r} ({count})" for name, count in intervened[intervened > 0].items())
        status.note(f"note: left rows out of what explains the columns that were set in them: {listed}.")
    if model.missing_ is not None and model.missing_.depends_on:
        names = ", ".join(
            f"{name!r} (on {', '.join(map(repr, causes))})" for name, causes in model.missing_.depends_on.items()
        )
        status.note(
            f"note: whether a value is missing depends on other columns: {names}. That is taken care of; "
            "if it also depends on the missing value itself, nobody can tell."
        )


def resample(
    model: "Daguerreotype", task: "Input", count: int, seed: int, jobs: int | None, status: Status
) -> "Bootstrap | None":
    """What resampled rows lead to; after Ctrl-C, those that were finished."""
    from daguerreotype.bootstrap import BootstrapInterrupt

    try:
        with own_bars(model, f"learning again from {count} tables of resampled rows", status):
            given = {"interventions": task.interventions}
            return model.bootstrap(task.table, count, random_state=seed, n_jobs=jobs, fit_params=given)
    except KeyboardInterrupt as interrupt:
        finished = interrupt.finished if isinstance(interrupt, BootstrapInterrupt) else None
        status.note(
            f"interrupted: {0 if finished is None else finished.n_resamples} of {count} tables of resampled rows "
            "were learned from."
        )
        return finished


def learn(
    model: "Daguerreotype", table: "pd.DataFrame", status: Status, interventions: list[Any] | None = None
) -> float:
    """Fit, and show that it goes on; the seconds of the fit, without those of compiling its kernels."""
    from daguerreotype._lib.numba import compiling

    def tell(count: int) -> None:
        if count == 1 and not status.on_screen:
            status.note(COMPILING)

    with compiling(tell) as compiled:
        start = time.perf_counter()
        with own_bars(model, f"learning the graph of {table.shape[1]} columns from {table.shape[0]} rows", status):
            model.fit(table, interventions=interventions)
        return time.perf_counter() - start - compiled.seconds


@contextmanager
def own_bars(model: "Daguerreotype", doing: str, status: Status) -> Iterator[None]:
    """Let the learner draw its own bars on a terminal; elsewhere say in plain lines what goes on."""
    if not status.on_screen:
        status.note(doing)
        yield
        return
    with status.aside(doing):
        model.set_params(verbose=1)
        try:
            yield
        finally:
            model.set_params(verbose=0)
