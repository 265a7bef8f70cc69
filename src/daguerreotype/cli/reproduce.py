"""The verb ``reproduce``: tables and figures of the paper, or of an experiment of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daguerreotype._lib.progress import show_status
from daguerreotype.cli.errors import INTERRUPTED, NOTHING_LEARNED
from daguerreotype.cli.options import QuietOption
from daguerreotype.cli.terminal import make_screen, make_table, say, show_files

if TYPE_CHECKING:
    from daguerreotype.experiments import Run, Spec, Store

EXPERIMENTS = (
    *("sachs", "syntren", "example-dags", "pruning-sachs", "pruning-syntren"),
    *("k-sweep", "n-sweep", "synthetic"),
)
ALL = "all"


def _named(names: list[str]) -> list[str]:
    """Experiments by name or file, each once."""
    choices = (*EXPERIMENTS, ALL)
    strange = [name for name in names if name not in choices and not name.endswith(".toml")]
    if strange:
        raise typer.BadParameter(
            f"{strange[0]!r} is no experiment; choose among {', '.join(choices)}, or give a .toml file.",
            param_hint="EXPERIMENT",
        )
    return list(dict.fromkeys(one for name in names for one in (EXPERIMENTS if name == ALL else (name,))))


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(
            metavar="EXPERIMENT...",
            show_default=False,
            help=f"{', '.join(EXPERIMENTS)}; all; or a TOML file of your own.",
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version, a matter of minutes.")] = False,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", metavar="N", min=1, help="Runs at a time.")] = 1,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default=False, help="Seeds, networks or draws of each problem."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.001, show_default=False, help="What one run may take.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of runs.jsonl, and of a folder per experiment."),
    ] = Path("results"),
    data_home: Annotated[
        Path | None,
        typer.Option(metavar="DIR", show_default=False, help="Folder that has syntren/data1.npy and so on."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Make runs again that failed.")] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Let TOML files name any class to import and run (estimator = ...)."),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Make tables and figures of the paper beside the published numbers, or of an experiment of your own.

    Every run is kept in runs.jsonl as it ends: start the command again and it goes on from there. A run that
    fails or takes too long is a result, too.
    """
    names = _named(experiments)
    with show_status(quiet) as status:
        status("reading the experiments")
        from daguerreotype.experiments import Store, load_spec

        store = Store(out / "runs.jsonl")
        specs = [load_spec(name, quick=quick, trust=trust) for name in names]
    try:
        for spec in specs:
            sized = spec.resized(repeats=seeds, time_limit=time_limit)
            _run(sized, store, n_jobs, None if data_home is None else str(data_home), retry_failed, quiet)
    except KeyboardInterrupt:
        typer.echo("interrupted; start the same command again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finished = [_show(Path(name).stem, store, out) for name in names]
    if not any(finished):
        raise typer.Exit(NOTHING_LEARNED)


def _run(spec: "Spec", store: "Store", n_jobs: int, home: str | None, retry: bool, quiet: bool) -> None:
    """Make the runs of one experiment under a bar."""
    from daguerreotype.experiments import make_plan, run_all

    with show_status(quiet) as status:
        status(f"{spec.name}: planning")
        planned = {run.key: run for run in make_plan(spec, data_home=home, store=store)}
        missing = [run for run in planned.values() if not store.settled(run.key, run.time_limit, retry=retry)]
        if len(missing) < len(planned):
            there = len(planned) - len(missing)
            status.note(f"{spec.name}: {there} of {len(planned)} runs are there already")
    with show_status(quiet, steps=len(missing)) as status:
        status(f"{spec.name}: {len(missing)} runs")

        def show(run: "Run", outcome: dict[str, object]) -> None:
            ended = f"SHD {outcome['shd']}" if "shd" in outcome else str(outcome["reason"])
            status.step(f"{spec.name}: {run.title}: {ended}")

        run_all(missing, store, n_jobs=n_jobs, data_home=home, retry=retry, callback=show)


def _show(name: str, store: "Store", out: Path) -> bool:
    """Write tables and figures of one experiment and print the table; returns whether any run ended well."""
    from daguerreotype.experiments.figures import write_figures
    from daguerreotype.experiments.results import summarize, table_cells, write_tables

    summary = summarize(store, name)
    cells = table_cells(store, name, summary)
    console = make_screen()
    console.print()
    say(console, str(store.plans[name]["title"]), style="bold")
    columns = [str(column) for column in cells.columns]
    numbers = [column for column in columns if column not in ("problem", "method", "runs")]
    table = make_table(*columns, right=numbers)
    for row in cells.to_numpy():
        table.add_row(*(str(cell) for cell in row))
    console.print(table)
    paths = write_tables(store, name, out / name) + write_figures(store, name, out / name)
    show_files(console, [str(path) for path in paths])
    return bool(len(summary)) and bool((summary["runs"] > 0).any())
