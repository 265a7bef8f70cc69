"""Registry of baselines: where each is."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline

# Name: module of this package and class in it. Methods of the paper's tables, today's peers, trivial ones.
REGISTRY = {
    "notears": ("libraries", "Notears"),
    "notears-mlp": ("libraries", "NotearsMLP"),
    "golem-ev": ("golem", "GolemEV"),
    "golem-nv": ("golem", "GolemNV"),
    "cam": ("cam", "CAM"),
    "npvar": ("npvar", "NPVAR"),
    "sortnregress": ("sortnregress", "SortNRegress"),
    "r2-sortnregress": ("sortnregress", "R2SortNRegress"),
    "bcd-nets": ("bcd_nets", "BCDNets"),
    "vi-dp-dag-softsort": ("vi_dp_dag", "VIDPDAGSoftSort"),
    "vi-dp-dag-sinkhorn": ("vi_dp_dag", "VIDPDAGSinkhorn"),
    "dagma": ("libraries", "Dagma"),
    "boss": ("libraries", "Boss"),
    "grasp": ("libraries", "Grasp"),
    "ges": ("libraries", "Ges"),
    "pc": ("libraries", "PC"),
    "direct-lingam": ("libraries", "DirectLiNGAM"),
    "empty": ("sortnregress", "Empty"),
    "random": ("sortnregress", "RandomOrder"),
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
    from daguerreotype.baselines.quiet import load

    module, method = REGISTRY[name]
    made: Baseline = getattr(load(f"daguerreotype.baselines.{module}"), method)(**params)
    return made
