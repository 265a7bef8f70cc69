"""The penalty of a parent, extended BIC, and the evidence that rows are."""

from dataclasses import dataclass
from typing import overload

import numpy as np

from daguerreotype._lib.checks import check_positive, check_trust
from daguerreotype._lib.typing import FloatArray, IntArray

# Where evidence is bounded, this share of its bound in rows, or at least these many, hold nearly all of what
# likelihoods can say (benchmarks/mixed.py --kinds).
TRUSTED, LEAST_TRUSTED = 0.6, 3 * 2**10


@dataclass(frozen=True)
class Penalty:
    r"""What parents cost in a search for them, and how much evidence rows are.

    BIC's penalty of a parameter, :math:`penalty \frac{\log n}{2n}` nats per row, is right for models that hold,
    and falls with the number of rows. But what a slightly wrong model leaves over does not fall, and in long
    tables BIC buys edges to make up for it. So n rows are worth

    .. math:: \frac{n N}{n + N}

    of them, N being the ``trust``: the coarsened posterior, which asks how likely the model makes rows near those
    at hand, and not these very rows (Miller and Dunson 2019). Likelihoods are tempered, and degrees of freedom
    paid for, as in a table of so many rows.

    Attributes
    ----------
    penalty : float
        Multiplies the BIC term.
    gamma : float
        Every parent costs  gamma log(d) / n  beside its degrees of freedom: the extended BIC, a prior.
    trust : float or None
        Rows of evidence at most; None: every row counts.
    """

    penalty: float = 1.0
    gamma: float = 0.0
    trust: float | None = None

    def __post_init__(self) -> None:
        check_positive(self.penalty, "penalty")
        check_positive(self.gamma, "gamma", zero=True)
        if self.trust is not None:
            check_trust(self.trust, "trust")

    @overload
    def evidence(self, n_rows: float) -> float: ...

    @overload
    def evidence(self, n_rows: IntArray) -> FloatArray: ...

    def evidence(self, n_rows: float | IntArray) -> float | FloatArray:
        """How many rows of evidence some rows are.

        >>> Penalty(trust=1000).evidence(1000), Penalty(trust=1000).evidence(10**6)
        (500.0, 999.000999000999)
        """
        return n_rows / (1.0 if self.trust is None else 1.0 + n_rows / self.trust)

    def enough(self, n_rows: int) -> int:
        """How many of so many rows likelihoods that take long are made from."""
        return n_rows if self.trust is None else min(n_rows, max(int(TRUSTED * self.trust), LEAST_TRUSTED))

    def per_dof(self, n_rows: float) -> float:
        """Cost of a degree of freedom, in units of half a nat: twice the log-likelihood must rise by as much."""
        return self.penalty * float(np.log(self.evidence(n_rows)))

    def per_parent(self, n_columns: int) -> float:
        """Cost of a parent beside its degrees of freedom, in the same units."""
        return 2.0 * self.gamma * float(np.log(n_columns))
