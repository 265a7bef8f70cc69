"""How do other methods do on the same table? Every method of the paper's tables, and today's, by one contract.

>>> from daguerreotype import baselines
>>> baselines.available()[:3]
['notears', 'notears-mlp', 'golem-ev']
>>> baselines.get("r2-sortnregress").fit([[0.0, 0.1], [1.0, 2.3], [2.0, 3.8], [3.0, 6.2]]).adjacency_matrix_
array([[0, 1],
       [0, 0]])
"""

from importlib import import_module
from typing import Any

from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.limit import TimeLimitError

__all__ = ["Baseline", "Learned", "TimeLimitError", "available", "get"]

# name -> module of this package and its class, imported when asked for
REGISTRY = {
    "notears": ("notears", "Notears"),
    "notears-mlp": ("notears_mlp", "NotearsMLP"),
    "golem-ev": ("golem.method", "GolemEV"),
    "golem-nv": ("golem.method", "GolemNV"),
    "cam": ("cam.method", "CAM"),
    "npvar": ("npvar", "NPVAR"),
    "sortnregress": ("sortnregress", "SortNRegress"),
    "r2-sortnregress": ("sortnregress", "R2SortNRegress"),
    "bcd-nets": ("bcd_nets.method", "BCDNets"),
    "vi-dp-dag-softsort": ("vi_dp_dag.method", "VIDPDAGSoftSort"),
    "vi-dp-dag-sinkhorn": ("vi_dp_dag.method", "VIDPDAGSinkhorn"),
    "dagma": ("dagma", "Dagma"),
    "boss": ("boss", "Boss"),
    "grasp": ("grasp", "Grasp"),
    "ges": ("ges", "Ges"),
    "pc": ("pc", "PC"),
    "direct-lingam": ("direct_lingam", "DirectLiNGAM"),
    "empty": ("empty", "Empty"),
    "random": ("sortnregress", "RandomOrder"),
}


def available() -> list[str]:
    """Names that `get` knows: the methods of the paper's tables, today's peers, and the trivial ones."""
    return list(REGISTRY)


def get(name: str, **params: Any) -> Baseline:
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
    module, cls = REGISTRY[name]
    made: Baseline = getattr(import_module(f"daguerreotype.baselines.{module}"), cls)(**params)
    return made
