"""The penalty of a parent: extended BIC, and a floor under the gain of an edge."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.checks import check_positive, check_share


@dataclass(frozen=True)
class Penalty:
    r"""What parents cost in a search for them.

    BIC's penalty of a parameter, :math:`penalty \frac{\log n}{2n}` nats per row, is right for models that hold,
    and falls with the number of rows. But what a slightly wrong model leaves over does not fall, and in long
    tables BIC buys edges to make up for it. So an edge costs at least :math:`-\frac12 \log(1 - min\_gain)`: what
    is gained by explaining the share ``min_gain`` of the variance that is left. Where this is more than BIC asks
    for, a curve costs the one nat of AIC for each degree of freedom beyond its line.

    Attributes
    ----------
    penalty : float
        Multiplies the BIC term.
    gamma : float
        Every parent costs  gamma log(d) / n  beside its degrees of freedom: the extended BIC.
    min_gain : float
        Share of what is left of an effect that an edge must explain.
    """

    penalty: float = 1.0
    gamma: float = 0.0
    min_gain: float = 0.0

    def __post_init__(self) -> None:
        check_positive(self.penalty, "penalty")
        check_positive(self.gamma, "gamma", zero=True)
        check_share(self.min_gain, "min_gain")

    def per_dof(self, n_rows: float) -> float:
        """Cost of a degree of freedom, in units of half a nat: twice the log-likelihood must rise by as much."""
        return self.penalty * float(np.log(n_rows))

    def per_parent(self, n_columns: int) -> float:
        """Cost of a parent beside its degrees of freedom, in the same units."""
        return 2.0 * self.gamma * float(np.log(n_columns))

    def least(self, n_rows: float) -> float:
        """The least cost of an edge, in the same units.

        >>> round(Penalty(min_gain=0.02).least(10**4), 1)
        202.0
        """
        return -n_rows * float(np.log1p(-self.min_gain))
