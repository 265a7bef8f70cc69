"""How many threads may a call use?"""

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend


def count_jobs(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for; one in a worker of joblib, whose siblings have the other cores."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}: 2 takes two threads, -1 one "
            "for every core, None one."
        )
    if get_active_backend()[0].nesting_level:
        return 1
    return int(effective_n_jobs(n_jobs))
