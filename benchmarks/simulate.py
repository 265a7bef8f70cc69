"""How long do the simulators take? Prints the seconds of one run at each size."""

from collections.abc import Callable
from time import perf_counter

from daguerreotype.simulate import simulate_dag, simulate_data


def seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def main() -> None:
    simulate_data(simulate_dag(5, 5, random_state=0), 50, mechanism="gp", random_state=0)  # imports
    for d, n, mechanism in [(1000, 10_000, "linear"), (50, 1000, "gp"), (50, 1000, "gp-add")]:
        for kind in ("SF", "ER"):
            drawing = seconds(lambda d=d, kind=kind: simulate_dag(d, 4 * d, kind, random_state=0))
            truth = simulate_dag(d, 4 * d, kind, random_state=0)
            filling = seconds(
                lambda truth=truth, n=n, mechanism=mechanism: simulate_data(
                    truth, n, mechanism=mechanism, random_state=0
                )
            )
            print(
                f"{mechanism:7} {kind}  d={d:<5} n={n:<6} edges={truth.sum():<5} "
                f"graph {drawing:6.3f} s  data {filling:6.2f} s"
            )


if __name__ == "__main__":
    main()
