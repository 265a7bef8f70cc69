"""Random DAGs, and data from structural equation models on them."""

from daguerreotype.simulate.data import Simulation, simulate_data
from daguerreotype.simulate.graphs import simulate_dag

__all__ = ["Simulation", "simulate_dag", "simulate_data"]
