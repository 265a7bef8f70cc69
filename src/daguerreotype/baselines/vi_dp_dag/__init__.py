"""VI-DP-DAG (Charpentier, Kibler and Günnemann 2022)."""

from daguerreotype.baselines.vi_dp_dag.method import VIDPDAG, VIDPDAGSinkhorn, VIDPDAGSoftSort

__all__ = ["VIDPDAG", "VIDPDAGSinkhorn", "VIDPDAGSoftSort"]
