r"""Maximum likelihood of discrete targets by Newton's method: softmax, ordered logits, and counts.

With Z the chosen columns beside a constant, the linear predictors of a row are :math:`\eta = Z \beta`:

- *softmax* (binary, categorical), K levels: K - 1 predictors, those of the levels beyond the first,
  :math:`p_k \propto e^{\eta_k}`;
- *ordered* (ordinal), K levels: one predictor and K - 1 cutpoints, :math:`P(y \le k) = \Lambda(c_k - \eta)`,
  the proportional odds model;
- *count*: one predictor, the log mean. Poisson, or negative binomial with variance :math:`\mu + a \mu^2` where
  that is worth the price of one more parameter.

All are concave in their coefficients (the count's given a), so that few steps from a nearby start are enough. A
ridge so small that data outweigh it keeps levels apart that parents determine exactly.
"""

import numpy as np

from daguerreotype._lib.numba import kernel, subkernel
from daguerreotype.edges.grow_shrink.counts import fit_counts
from daguerreotype.edges.grow_shrink.newton import Rows, RowsFit
from daguerreotype.edges.grow_shrink.ordered import fit_ordered
from daguerreotype.edges.grow_shrink.problem import COUNT, ORDERED, Problem
from daguerreotype.edges.grow_shrink.softmax import fit_softmax


@subkernel
def start_from_levels(problem: Problem, target: int, fit: RowsFit) -> None:
    """Constants and cutpoints of the target without parents, half a row more in every level."""
    outcomes, levels = problem.outcomes[target], problem.levels[target]
    n = outcomes.size
    for c in range(fit.coefficients.shape[1]):
        fit.coefficients[0, c] = 0.0
    if problem.families[target] >= COUNT:
        total = 0.5
        for t in range(n):
            total += outcomes[t]
        fit.coefficients[0, 0] = np.log(total / n)
        return
    counts = np.full(levels, 0.5)
    for t in range(n):
        counts[outcomes[t]] += 1.0
    if problem.families[target] == ORDERED:
        below, total = 0.0, n + 0.5 * levels
        for k in range(levels - 1):
            below += counts[k]
            fit.nuisance[k] = np.log(below / (total - below))
    else:
        for k in range(1, levels):
            fit.coefficients[0, k - 1] = np.log(counts[k] / counts[0])


@subkernel
def gather_rows(problem: Problem, fit: RowsFit, target: int, m: int) -> Rows:
    """The design of the first m of ``fit.columns``, with rows that agree in all that it is made of once.

    Cells are all combinations of the codes of the target and of the owners of the columns, in mixed radix.
    """
    outcomes, stride = problem.outcomes[target], problem.blocks.shape[1]
    n = outcomes.size
    most = 0
    for t in range(n):
        most = max(most, outcomes[t])
    cells = most + 1
    owner = -1
    for c in range(m):
        if fit.columns[c] // stride != owner and cells <= n:
            owner = fit.columns[c] // stride
            cells = cells * problem.n_codes[owner] if problem.n_codes[owner] > 0 else n + 1
    place = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)  # row that stands for each different one
    times = np.empty(n)
    count = 0
    if cells <= n:
        for t in range(n):
            place[t] = outcomes[t]
        owner = -1
        for c in range(m):
            if fit.columns[c] // stride != owner:
                owner = fit.columns[c] // stride
                for t in range(n):
                    place[t] = place[t] * problem.n_codes[owner] + problem.codes[owner, t]
        number = np.full(cells, -1)
        for t in range(n):
            if number[place[t]] < 0:
                number[place[t]] = count
                first[count] = t
                times[count] = 0.0
                count += 1
            place[t] = number[place[t]]
            times[place[t]] += 1.0
    else:
        count = n
        for t in range(n):
            place[t], first[t], times[t] = t, t, 1.0
    design = np.empty((count, m + 1))
    values = np.empty(count, dtype=np.int64)
    for i in range(count):
        design[i, 0] = 1.0
        values[i] = outcomes[first[i]]
        for c in range(m):
            design[i, c + 1] = problem.features[first[i], fit.columns[c]]
    return Rows(values, times[:count].copy(), design, place)


@kernel
def maximise(problem: Problem, fit: RowsFit, target: int, m: int) -> int:
    """Fit ``target`` on the first m of ``fit.columns``, from the coefficients that are in ``fit``."""
    rows = gather_rows(problem, fit, target, m)
    family = problem.families[target]
    if family >= COUNT:
        fit_counts(rows, family, 0.5 * problem.penalty_per_dof, fit)
    elif family == ORDERED:
        fit_ordered(rows, problem.levels[target] - 1, fit)
    else:
        fit_softmax(rows, problem.levels[target] - 1, fit)
    return m
