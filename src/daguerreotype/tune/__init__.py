"""Search for the settings of a learner, on synthetic data sets with known graphs or on a table of one's own."""

from daguerreotype.tune.objectives import paper_problems
from daguerreotype.tune.search import Tuning, tune, tune_table
from daguerreotype.tune.space import default_space

__all__ = ["Tuning", "default_space", "paper_problems", "tune", "tune_table"]
