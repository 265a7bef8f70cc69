"""Search for the settings of a learner, on synthetic data sets with known graphs or on a table of one's own."""

from daguerreotype.tune.problems import paper_problems
from daguerreotype.tune.result import Tuning
from daguerreotype.tune.search import tune, tune_table
from daguerreotype.tune.space import default_space

__all__ = ["Tuning", "default_space", "paper_problems", "tune", "tune_table"]
