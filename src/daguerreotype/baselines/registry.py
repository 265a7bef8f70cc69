"""Registry of baselines: where each is, what it is, and which extra it needs."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a baseline without importing it.

    Attributes
    ----------
    module, name : str
        Module of this package, and the class in it.
    help : str
        The method in one line.
    kind : {"paper", "peer", "trivial"}
        A method of the paper's tables, one that people use today, or one that any method should beat.
    extra : str or None
        Extra of the package that brings its library; None where the core is enough.
    """

    module: str
    name: str
    help: str
    kind: Literal["paper", "peer", "trivial"]
    extra: Literal["baselines", "torch"] | None = None


REGISTRY = {
    "notears": Entry("gcastle", "Notears", "NOTEARS, linear (Zheng et al. 2018)", "paper", "baselines"),
    "notears-mlp": Entry("gcastle", "NotearsMLP", "NOTEARS, MLP (Zheng et al. 2020)", "paper", "baselines"),
    "golem-ev": Entry("golem", "GolemEV", "GOLEM, equal noise variances (Ng et al. 2020)", "paper"),
    "golem-nv": Entry("golem", "GolemNV", "GOLEM, a noise variance per column (Ng et al. 2020)", "paper"),
    "cam": Entry("cam", "CAM", "causal additive models (Bühlmann et al. 2014)", "paper"),
    "npvar": Entry("npvar", "NPVAR", "layers of equal residual variance (Gao et al. 2020)", "paper"),
    "sortnregress": Entry("sortnregress", "SortNRegress", "order by variance (Reisach et al. 2021)", "paper"),
    "r2-sortnregress": Entry("sortnregress", "R2SortNRegress", "order by R² (Reisach et al. 2023)", "peer"),
    "bcd-nets": Entry("bcd_nets", "BCDNets", "BCD-Nets (Cundy et al. 2021)", "paper", "torch"),
    "vi-dp-dag-softsort": Entry(
        "vi_dp_dag", "VIDPDAGSoftSort", "VI-DP-DAG with SoftSort (Charpentier et al. 2022)", "paper", "torch"
    ),
    "vi-dp-dag-sinkhorn": Entry(
        "vi_dp_dag", "VIDPDAGSinkhorn", "VI-DP-DAG with Sinkhorn (Charpentier et al. 2022)", "paper", "torch"
    ),
    "dagma": Entry("dagma", "Dagma", "DAGMA, linear (Bello et al. 2022)", "peer", "baselines"),
    "boss": Entry("causal_learn", "Boss", "best order score search (Andrews et al. 2023)", "peer", "baselines"),
    "grasp": Entry("causal_learn", "Grasp", "GRaSP (Lam et al. 2022)", "peer", "baselines"),
    "ges": Entry("causal_learn", "Ges", "greedy equivalence search (Chickering 2002)", "peer", "baselines"),
    "pc": Entry("causal_learn", "PC", "PC with Fisher's z (Spirtes and Glymour 1991)", "peer", "baselines"),
    "direct-lingam": Entry(
        "direct_lingam", "DirectLiNGAM", "DirectLiNGAM (Shimizu et al. 2011)", "peer", "baselines"
    ),
    "empty": Entry("trivial", "Empty", "no edges", "trivial"),
    "random": Entry("trivial", "RandomOrder", "a random order, then regression", "trivial"),
}


def available() -> list[str]:
    """Names that `get` knows: the methods of the paper's tables, today's peers, and the trivial ones."""
    return list(REGISTRY)


def get(name: str, **params: Any) -> "Baseline":
    """The baseline ``name``, not yet fitted.

    Parameters
    ----------
    name : str
        One of `available`.
    **params
        Settings of the method, see its class; all take ``standardize``, ``random_state`` and ``time_limit``.

    Examples
    --------
    >>> get("boss", time_limit=60)
    Boss(time_limit=60)
    """
    if name not in REGISTRY:
        raise ValueError(f"unknown baseline {name!r}: choose one of {', '.join(map(repr, REGISTRY))}.")
    entry = REGISTRY[name]
    made: Baseline = getattr(import_module(f"daguerreotype.baselines.{entry.module}"), entry.name)(**params)
    return made
