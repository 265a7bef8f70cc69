"""BCD-Nets (Cundy, Grover and Ermon 2021)."""

from daguerreotype.baselines.bcd_nets.method import BCDNets

__all__ = ["BCDNets"]
