"""Which settings suit a learner? Searched on synthetic problems with known graphs, or on a table of one's own."""

from daguerreotype.tune.problems import Problem, paper_problems
from daguerreotype.tune.record import Tuning
from daguerreotype.tune.space import default_space
from daguerreotype.tune.synthetic import tune
from daguerreotype.tune.table import tune_table

__all__ = ["Problem", "Tuning", "default_space", "paper_problems", "tune", "tune_table"]
