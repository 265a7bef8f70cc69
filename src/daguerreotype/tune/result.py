"""Result of a search for settings."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Tuning:
    """What a search for settings found.

    Attributes
    ----------
    best : estimator
        Copy of the learner with the chosen settings, not yet fitted.
    chosen : dict
        The chosen settings by name; "edges.pruning" is the pruning of the learner's edges.
    scores : DataFrame
        The objectives of the learner as it was given and with the chosen settings, in rows "given" and "chosen";
        NaN where they could not be had.
    front : DataFrame
        The trials that no other beats in all objectives at once.
    trials : DataFrame
        One row per trial: "state" ("COMPLETE", "FAIL", or "RUNNING" on some machine), objectives, settings,
        "seconds", and the "reason" why it failed.
    directions : dict
        "minimize" or "maximize" for every objective.
    study_name : str
        By which the search goes on, with the same storage.
    interrupted : bool
        Whether a person ended it before its last trial.
    study : optuna.Study
        For Optuna's own analyses and plots.
    """

    best: Any
    chosen: dict[str, Any]
    scores: pd.DataFrame
    front: pd.DataFrame = field(repr=False)
    trials: pd.DataFrame = field(repr=False)
    directions: dict[str, str]
    study_name: str
    interrupted: bool
    study: Any = field(repr=False, compare=False)
