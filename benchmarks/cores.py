"""How much faster is the learner with two cores? Restarts, resamples and local fits.

Run ``python benchmarks/cores.py`` (some two minutes), or with ``--smoke`` for a quick pass. Seconds of the clock,
the best of several: other work on the machine takes from the second core.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from daguerreotype import Daguerreotype
from fits import draw
from tables import markdown

Call = Callable[[int], object]  # takes n_jobs
OTHER = {"scales": "none", "training__loss": "bic"}
LINEAR = {"edges": "bic", **OTHER}


def restarts(d: int) -> Call:
    """One fit that spends most of its time on restarts of refining."""
    X, _ = draw("ER", d, 0)
    return lambda n_jobs: Daguerreotype(n_jobs=n_jobs).set_params(training__n_restarts=64, **LINEAR).fit(X)


def bootstrap(d: int) -> Call:
    """Eight resamples."""
    X, _ = draw("ER", d, 0)
    model = Daguerreotype().set_params(**LINEAR).fit(X)
    return lambda n_jobs: model.bootstrap(X, n_resamples=8, n_jobs=n_jobs)


def local_fits(d: int) -> Call:
    """One fit with edges that have no batch of their own: a regressor of scikit-learn."""
    X, _ = draw("ER", d, 0)
    forest = RandomForestRegressor(max(d // 2, 1), max_depth=5, random_state=0)
    return lambda n_jobs: (
        Daguerreotype(edges=forest, n_jobs=n_jobs)
        .set_params(training__max_iter=3, training__refine=False, **OTHER)
        .fit(X)
    )


def lars_fits(d: int) -> Call:
    """One fit with edges of the paper."""
    X, _ = draw("ER", d, 0)
    return lambda n_jobs: (
        Daguerreotype(edges="lars", n_jobs=n_jobs).set_params(training__n_restarts=1, **OTHER).fit(X)
    )


CASES = {  # what is spread over cores: its case, and the number of variables
    "restarts of one fit": (restarts, 200),
    "bootstrap": (bootstrap, 100),
    "local fits of a random forest": (local_fits, 20),
    "local fits by LARS": (lars_fits, 100),
}


def speed_up(call: Call, repeats: int) -> float:
    """Seconds of the clock with one job over those with two."""
    call(2)  # loads kernels, starts workers
    seconds = {1: np.inf, 2: np.inf}
    for n_jobs in (1, 2) * repeats:
        start = time.perf_counter()
        call(n_jobs)
        seconds[n_jobs] = min(seconds[n_jobs], time.perf_counter() - start)
    return float(seconds[1] / seconds[2])


def measure_cores(smoke: bool) -> dict[str, float]:
    """Speed-up by what is spread over two cores."""
    found = {}
    for name, (prepare, size) in CASES.items():
        d = 5 if smoke else size
        found[f"{name}, d = {d}"] = speed_up(prepare(d), 1 if smoke else 3)
    return found


def cores_table(found: dict[str, float]) -> str:
    """Markdown."""
    return markdown(("two cores for", "times as fast"), ([name, f"{value:.2f}"] for name, value in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, a few seconds")
    print(cores_table(measure_cores(parser.parse_args().smoke)))


if __name__ == "__main__":
    main()
