"""Other methods on the same table: those of the paper's tables, today's peers and trivial ones, by one contract.

>>> from daguerreotype import baselines
>>> baselines.available()[:3]
['notears', 'notears-mlp', 'golem-ev']
>>> baselines.get("r2-sortnregress").fit([[0.0, 0.1], [1.0, 2.3], [2.0, 3.8], [3.0, 6.2]]).adjacency_matrix_
array([[0, 1],
       [0, 0]])
"""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names
from daguerreotype.baselines.registry import available, get

if TYPE_CHECKING:
    from daguerreotype.baselines.base import Baseline as Baseline
    from daguerreotype.baselines.base import Learned as Learned
    from daguerreotype.baselines.limit import TimeLimitError as TimeLimitError

__all__ = ["Baseline", "Learned", "TimeLimitError", "available", "get"]

# The registry alone loads nothing heavy: the command line lists methods from it.
__getattr__ = lazy_names(__name__, {"base": "Baseline Learned", "limit": "TimeLimitError"})
