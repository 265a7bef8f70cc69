"""Which problems are learners compared on? Data of many kinds with a known graph.

`problem` draws arrays of numbers, of thirteen families, of seven that are not additive with independent noise, and
of three that no default was chosen on. Its graphs take turns by seed, so that any two in a row differ in both:
scale-free or Erdős-Rényi, with 2 d or d edges in expectation. `mixed_pair`, `mixed_table`, `kinds_table` and
`network` draw DataFrames as a user would have them: text, truth values, whole numbers and floats.
"""

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.quiet import quiet
from daguerreotype.graphs import topological_order
from daguerreotype.simulate import simulate_dag, simulate_data

# family -> (mechanism, noise) of additive equations on their own scale
ADDITIVE = {
    "linear-gaussian": ("linear", "gaussian"),
    "linear-laplace": ("linear", "laplace"),
    "linear-gumbel": ("linear", "gumbel"),
    "linear-exponential": ("linear", "exponential"),
    "linear-uniform": ("linear", "uniform"),
    "gp-add": ("gp-add", "gaussian"),
    "gp-add-exponential": ("gp-add", "exponential"),
    "gp": ("gp", "gaussian"),
    "mlp": ("mlp", "gaussian"),
    "mim": ("mim", "gaussian"),
}
FAMILIES = (*ADDITIVE, "hill", "lognormal", "offset")
MISSPECIFIED = ("products", "thresholds", "spread", "saturation", "distorted", "outliers", "hidden")
OTHERS = ("noise-shapes", "waves", "relu")
GRID = 0.25  # step of rounded columns in standard deviations, before it is made a short decimal
RAREST = 0.05  # share of the rarest level of a drawn column
LEVELS = np.array(["brown", "green", "red", "white"])
TABLES = ("lines", "bends", "rounded", "integers")
# how a number of variance about one becomes a column of another kind
MEASURED: dict[str, Callable[[FloatArray], Any]] = {
    "grade": lambda x: 1 + np.digitize(x, [-1.2, -0.4, 0.4, 1.2]),
    "amount": lambda x: np.where(x > -0.3, np.exp(2.0 + 0.6 * x).round(2), 0.0),
    "share": lambda x: (1.0 / (1.0 + np.exp(-x))).round(3),
    "duration": lambda x: (30.0 * np.exp(0.5 * x)).round(1),
    "temperature": lambda x: np.rint(15.0 + 6.0 * x).astype(np.int64),
    "rounded": lambda x: np.rint(20.0 + 5.0 * x),
}
KINDS = ("number", "binary", "category", "count", *MEASURED)
NETWORKS = ("asia", "child")


def problem(family: str, seed: int, d: int = 20, n: int = 500) -> tuple[FloatArray, IntArray]:
    r"""Draw data (n, d) and the adjacency (d, d) of the graph behind them.

    Parameters
    ----------
    family : str
        One of `FAMILIES`. "linear-*", "gp-add*", "gp", "mlp" and "mim" are additive equations of
        `simulate_data`. "hill" is gene-like: Hill kinetics with multiplicative noise. "lognormal" is
        exp(0.7 x) for x standardized and linear Gaussian. "offset" is 20 + x for x of "gp-add": positive
        data for which a logarithm is nevertheless wrong. Or one of `MISSPECIFIED`: see `misspecified`. Or one of
        `OTHERS`: "noise-shapes" is linear, the noise of every second column or so Gaussian, of each other one of
        another shape that "linear-*" have; "waves" and "relu" are among the equations of `misspecified`.
    seed : int
        Of graph and data; modulo 4 it also chooses the kind and the density of the graph.
    d, n : int
        Number of columns and of rows.
    """
    known = (*FAMILIES, *MISSPECIFIED, *OTHERS)
    if family not in known:
        raise ValueError(f"unknown family {family!r}: choose one of {', '.join(map(repr, known))}.")
    kind, n_edges = (("SF", 2 * d), ("ER", d), ("SF", d), ("ER", 2 * d))[seed % 4]
    adjacency = simulate_dag(d, n_edges, kind, random_state=seed)
    if family == "noise-shapes":
        rng = np.random.default_rng([seed, 9])
        others = rng.choice(["laplace", "gumbel", "exponential", "uniform"], d)
        drawn = np.where(rng.random(d) < 0.5, "gaussian", others).tolist()
        return _additive(adjacency, n, "linear", drawn, seed), adjacency
    if family in (*MISSPECIFIED, *OTHERS):
        return misspecified(family, adjacency, n, seed), adjacency
    if family == "hill":
        return hill_kinetics(adjacency, n, np.random.default_rng([seed, 1])), adjacency
    if family == "lognormal":
        return np.exp(0.7 * _additive(adjacency, n, "linear", "gaussian", seed, standardize=True)), adjacency
    if family == "offset":
        return 20.0 + _additive(adjacency, n, "gp-add", "gaussian", seed), adjacency
    return _additive(adjacency, n, *ADDITIVE[family], seed), adjacency


def scale_free(seed: int, d: int, n: int = 1000) -> tuple[FloatArray, IntArray]:
    """Linear Gaussian data with equal noise, standardized, and their scale-free graph of 2 d edges."""
    adjacency = simulate_dag(d, 2 * d, "SF", random_state=seed)
    return _additive(adjacency, n, "linear", "gaussian", seed, standardize=True), adjacency


def hill_kinetics(
    adjacency: IntArray, n: int, rng: np.random.Generator, *, noise: float = 0.2, leak: float = 0.1
) -> FloatArray:
    r"""Levels (n, d) of genes that activate or repress each other.

    .. math:: x_j = e^{\epsilon_j} \prod_{i \to j} (leak + h_{ij}(x_i)),  \qquad
              h(x) = \frac{x^s}{K^s + x^s}  \text{ or }  1 - h(x),  \quad  \epsilon_j \sim N(0, noise^2)

    with steepness s uniform on (1, 4), threshold K within a factor of 0.6 to 1.6 of the parent's median, and
    two of five edges repressing. A gene without parents is lognormal.
    """
    levels = np.empty((n, len(adjacency)))
    for gene in topological_order(adjacency):
        parents = np.flatnonzero(adjacency[:, gene])
        level = np.ones(n) if parents.size else np.exp(0.6 * rng.standard_normal(n))
        for parent in parents:
            steepness = rng.uniform(1.0, 4.0)
            threshold = np.median(levels[:, parent]) * rng.uniform(0.6, 1.6)
            activity = 1.0 / (1.0 + (threshold / levels[:, parent]) ** steepness)
            level = level * (leak + (1.0 - activity if rng.random() < 0.4 else activity))
        levels[:, gene] = level * np.exp(noise * rng.standard_normal(n))
    return levels


def _additive(
    adjacency: IntArray,
    n: int,
    mechanism: str,
    noise: str | list[str],
    seed: int,
    *,
    standardize: bool = False,
) -> FloatArray:
    """Values of additive equations with one mechanism."""
    simulated = simulate_data(
        adjacency, n, mechanism=mechanism, noise=noise, standardize=standardize, random_state=seed
    )
    return np.asarray(simulated.X)


def misspecified(family: str, adjacency: IntArray, n: int, seed: int) -> FloatArray:
    r"""Values (n, d) of equations that are not additive, or whose noise is not independent.

    With z_i the standardized parents, bounded by ±3, an additive equation is

    .. math:: x_j = \sum_{i \to j} s_{ij} f_{ij}(z_i) + \epsilon_j,  \qquad  \epsilon_j \sim N(0, 1)

    where |s| is uniform on (0.5, 2), either sign is as likely, and f is a line or a `drawn_bend`, one as likely as
    the other. Parents are taken in pairs (i, k), each in one pair at most.

    - "products" adds s z_i z_k for every pair.
    - "thresholds" has 2 s_{ij} [z_i > t_i] for the effect of a parent and adds 2 s [z_i > t_i and z_k > t_k], or
      the same with "or", for every pair; t is uniform on (-0.8, 0.8).
    - "spread" has noise \epsilon_j \exp(p^{-1/2} \sum_i a_i \tanh z_i) for p parents; |a| is uniform on (0.5, 1).
    - "saturation" is \tanh(a \eta_j) for \eta_j the additive equation with its noise, standardized, and a uniform
      on (0.7, 2). Columns are then seen with noise of a standard deviation of 0.05.
    - "distorted" is additive, and half of the columns are seen through a monotone function: in turns e^{0.7 z},
      z / (1 + |z|)^{2/3}, 1 / (1 + e^{-2 z}) and z |z|^{1/2} of the standardized column z.
    - "outliers" is additive, and 2 % of the rows of every column are seen with an error, its standard deviation
      times a draw of Student's t with 1.5 degrees of freedom.
    - "hidden" is additive and adds \sqrt{r / (1 - r)} h for every one of d / 2 hidden standard normal h to two or
      three columns: the noise of these has the correlation r, uniform on (0.1, 0.2), if they share no other one.
    - "waves" has s_{ij} \sin(w z_i + b) for the effect of a parent, standardized; w is uniform on (2, 3.5), b on
      (0, 2 \pi).
    - "relu" is a network of 10 hidden units, \sum_h v_h \max(0, u_h z + c_h) with standard normal u, v and c,
      standardized and times 1.5, and the noise.

    What columns are seen through does not reach their effects. For one seed, coefficients do not depend on n.
    """
    d = len(adjacency)
    added = hidden_causes(d, n, np.random.default_rng([seed, 3])) if family == "hidden" else np.zeros((d, n))
    columns = np.empty((n, d))
    for node in topological_order(adjacency).tolist():
        parents = standardized(columns[:, np.flatnonzero(adjacency[:, node])]).clip(-3.0, 3.0)  # (n, p)
        rng = np.random.default_rng([seed, 4, node])
        columns[:, node] = EQUATIONS.get(family, additive)(rng, parents) + added[node]
    if family == "distorted":
        return distorted(columns, np.random.default_rng([seed, 5]))
    if family == "saturation":
        return columns + 0.05 * np.random.default_rng([seed, 6]).standard_normal((n, d))
    if family == "outliers":
        rng = np.random.default_rng([seed, 7])
        wrong = rng.random((n, d)) < 0.02
        return np.asarray(columns + wrong * columns.std(axis=0) * rng.standard_t(1.5, (n, d)))
    return columns


def drawn_sizes(rng: np.random.Generator, count: int, low: float = 0.5, high: float = 2.0) -> FloatArray:
    """Numbers whose absolute values are uniform on (low, high), of either sign."""
    return np.asarray(rng.uniform(low, high, count) * rng.choice([-1.0, 1.0], count))


def drawn_pairs(rng: np.random.Generator, parents: FloatArray) -> list[tuple[int, int]]:
    """Columns of the parents in pairs, without the last of an odd number."""
    drawn = rng.permutation(parents.shape[1]).tolist()
    return list(zip(drawn[0::2], drawn[1::2], strict=False))


def effects(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Sum of a line or a bend of every parent."""
    total = np.zeros(len(parents))
    for z, size in zip(parents.T, drawn_sizes(rng, parents.shape[1]), strict=True):
        total += size * (drawn_bend(rng, z) if rng.random() < 0.5 else z)
    return total


def additive(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Effects of the parents and standard normal noise."""
    return effects(rng, parents) + rng.standard_normal(len(parents))


def products(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Effects of single parents and of products of two."""
    total = effects(rng, parents)
    for i, k in drawn_pairs(rng, parents):
        total += drawn_sizes(rng, 1) * parents[:, i] * parents[:, k]
    return total + rng.standard_normal(len(parents))


def thresholds(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Steps, and steps where both or one of two parents are beyond their thresholds."""
    p = parents.shape[1]
    above = parents > rng.uniform(-0.8, 0.8, p)  # (n, p)
    total = above @ (2.0 * drawn_sizes(rng, p))
    for i, k in drawn_pairs(rng, parents):
        combine = np.logical_and if rng.random() < 0.5 else np.logical_or
        total += 2.0 * drawn_sizes(rng, 1) * combine(above[:, i], above[:, k])
    return np.asarray(total + rng.standard_normal(len(parents)))


def spread(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Effects, and noise of a size that depends on the parents."""
    p = parents.shape[1]
    sizes = drawn_sizes(rng, p, 0.5, 1.0) / np.sqrt(max(p, 1))
    scale = np.exp(np.tanh(parents) @ sizes)
    return np.asarray(effects(rng, parents) + scale * rng.standard_normal(len(parents)))


def saturation(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """Effects and noise through a hyperbolic tangent."""
    steep = rng.uniform(0.7, 2.0)
    return np.asarray(np.tanh(steep * standardized(additive(rng, parents))))


def waves(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """A sine of each parent."""
    p = parents.shape[1]
    sines = np.sin(rng.uniform(2.0, 3.5, p) * parents + rng.uniform(0.0, 2 * np.pi, p))
    signal = standardized(sines) @ drawn_sizes(rng, p)
    return np.asarray(signal + rng.standard_normal(len(parents)))


def relu(rng: np.random.Generator, parents: FloatArray) -> FloatArray:
    """A network of one layer over all parents."""
    p = parents.shape[1]
    if not p:
        return rng.standard_normal(len(parents))
    hidden = np.maximum(parents @ rng.standard_normal((p, 10)) + rng.standard_normal(10), 0.0)
    signal = 1.5 * standardized(hidden @ rng.standard_normal(10))
    return np.asarray(signal + rng.standard_normal(len(parents)))


EQUATIONS = {
    "products": products,
    "thresholds": thresholds,
    "spread": spread,
    "saturation": saturation,
    "waves": waves,
    "relu": relu,
}


def distorted(columns: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Half of the columns seen through monotone functions, the others as they are."""
    functions: list[Callable[[FloatArray], FloatArray]] = [
        lambda z: np.exp(0.7 * z),
        lambda z: z / (1.0 + np.abs(z)) ** (2 / 3),
        lambda z: 1.0 / (1.0 + np.exp(-2.0 * z)),
        lambda z: z * np.sqrt(np.abs(z)),
    ]
    d = columns.shape[1]
    seen, chosen, first = columns.copy(), rng.permutation(d)[: d // 2], int(rng.integers(4))
    for turn, column in enumerate(chosen.tolist(), first):
        seen[:, column] = functions[turn % 4](standardized(columns[:, column]))
    return seen


def hidden_causes(d: int, n: int, rng: np.random.Generator) -> FloatArray:
    """What d / 2 hidden variables add to the columns (d, n)."""
    added = np.zeros((d, n))
    for cause in rng.spawn(d // 2):
        share, width = cause.uniform(0.1, 0.2), int(cause.integers(2, 4))
        reached = cause.permutation(d)[:width]
        added[reached] += np.sqrt(share / (1.0 - share)) * cause.standard_normal(n)
    return added


def bend(x: FloatArray) -> FloatArray:
    """A smooth curve that rises, with a valley on its left."""
    return np.tanh(2.0 * x) + x**2 / 2


def _smooth(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    return x, bend(x) + 0.5 * rng.standard_normal(n)


def _rounded_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x, y = _smooth(rng, n)
    return x, on_grid(y)


def _both_rounded(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x, y = _smooth(rng, n)
    return on_grid(x), on_grid(y)


def _straight_binary_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    return x, draw_binary(rng, 2.0 * x)


def _bent_binary_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    return x, draw_binary(rng, 2.0 * bend(x))


def _poisson_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    return x, rng.poisson(np.exp(0.5 + 0.8 * x.clip(-2.5, 2.5)))


def _overdispersed_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    return x, rng.poisson(np.exp(0.5 + 0.8 * x.clip(-2.5, 2.5)) * rng.gamma(2.0, 0.5, n))


def _categorical_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    slopes = rng.permutation([-2.0, 0.0, 2.0]) + 0.3 * rng.standard_normal(3)
    return x, LEVELS[draw_level(rng, x[:, None] * slopes)]


def _ordinal_effect(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    codes = np.digitize(1.5 * x + rng.logistic(size=n), [-3.0, -1.5, 0.0, 1.5, 3.0])
    return x, pd.Categorical.from_codes(
        codes, ["none", "slight", "mild", "strong", "severe", "worst"], ordered=True
    )


def _binary_cause(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.random(n) < 0.4
    return x, 2.0 * x + rng.standard_normal(n)


def _categorical_cause(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    codes = rng.choice(4, n, p=rng.dirichlet(np.full(4, 20.0)))
    return LEVELS[codes], rng.permutation([-2.0, -0.5, 0.5, 2.5])[codes] + rng.standard_normal(n)


def _count_cause(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.poisson(3.0, n)
    return x, bend(standardized(np.log1p(x))) + 0.5 * rng.standard_normal(n)


def _binary_to_count(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.random(n) < 0.4
    return x, rng.poisson(np.exp(0.5 + 1.2 * x))


def _categorical_to_binary(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    codes = rng.choice(3, n, p=rng.dirichlet(np.full(3, 20.0)))
    return LEVELS[codes], draw_binary(rng, rng.permutation([-1.5, 0.0, 1.5])[codes])


def _age_to_binary(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    age = np.rint(45.0 + 15.0 * rng.standard_normal(n)).clip(18, 90).astype(np.int64)
    return age, draw_binary(rng, 2.0 * bend((age - 45.0) / 15.0))


def _likert(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.standard_normal(n)
    y = 0.8 * x + 0.6 * rng.standard_normal(n)
    return tuple(1 + np.digitize(latent, [-1.2, -0.4, 0.4, 1.2]) for latent in (x, y))


PAIRS: dict[str, Callable[[np.random.Generator, int], tuple[Any, Any]]] = {
    "number -> number": _smooth,
    "number -> rounded": _rounded_effect,
    "rounded -> rounded": _both_rounded,
    "number -> binary, straight": _straight_binary_effect,
    "number -> binary, bent": _bent_binary_effect,
    "age -> binary": _age_to_binary,
    "number -> count, Poisson": _poisson_effect,
    "number -> count, overdispersed": _overdispersed_effect,
    "number -> 3 categories": _categorical_effect,
    "number -> 6 ordered levels": _ordinal_effect,
    "binary -> number": _binary_cause,
    "4 categories -> number": _categorical_cause,
    "count -> number": _count_cause,
    "binary -> count": _binary_to_count,
    "3 categories -> binary": _categorical_to_binary,
    "5 grades -> 5 grades": _likert,
}
# Both directions have the same likelihood and as many parameters, or nearly so: nobody can tell them apart.
UNDECIDABLE = ("3 categories -> binary", "5 grades -> 5 grades")


def mixed_pair(kind: str, seed: int, n: int = 1000) -> tuple[pd.DataFrame, IntArray]:
    """Draw two columns, a cause and its effect, of one of `PAIRS`; odd seeds put the effect first."""
    cause, effect = PAIRS[kind](np.random.default_rng([seed, crc32(kind.encode())]), n)
    frame = pd.DataFrame({"cause": cause, "effect": effect})
    adjacency = np.array([[0, 1], [0, 0]])
    if seed % 2:
        frame, adjacency = frame[["effect", "cause"]], adjacency.T
    return frame.set_axis(["a", "b"], axis=1), adjacency  # names that give nothing away


def mixed_table(family: str, seed: int, d: int, n: int = 1000) -> tuple[pd.DataFrame, IntArray]:
    r"""Draw a table of numbers, truth values, words and counts, and its graph: Erdős-Rényi, mean degree 2.5.

    Half of the columns are numbers, a fifth is binary, each other one has three categories or counts. With
    \eta_j the sum of what its parents add, a column is \eta_j plus standard normal noise, Bernoulli with logit
    \eta_j, a softmax with an \eta_j for each category, or Poisson with log mean 0.7 + \eta_j / 2, where \eta_j / 2
    is bounded by 1.8. Parents are standardized, counts after log1p; a parent adds a line, a smooth bend, or an
    effect for each of its levels, of standard deviation 0.7 to 2.

    Parameters
    ----------
    family : str
        One of `TABLES`. "lines" has straight effects of numbers and counts, in "bends" each bends with probability
        one half; "rounded" and "integers" are "bends" whose numbers are rounded to a quarter of their standard
        deviation or so, and to whole numbers of a standard deviation of 10.
    seed : int
        Of graph and data.
    d, n : int
        Number of columns and of rows.
    """
    if family not in TABLES:
        raise ValueError(f"unknown family {family!r}: choose one of {', '.join(map(repr, TABLES))}.")
    adjacency = simulate_dag(d, 1.25 * d, "ER", random_state=seed)
    rng = np.random.default_rng([seed, 2])
    kinds = ["number"] * (d // 2) + ["binary"] * round(d / 5)
    kinds = rng.permutation(kinds + rng.choice(["category", "count"], d - len(kinds)).tolist()).tolist()
    bent = 0.0 if family == "lines" else 0.5
    columns: dict[int, Any] = {}
    for node in topological_order(adjacency).tolist():
        parents = [(kinds[i], columns[i]) for i in np.flatnonzero(adjacency[:, node])]
        column = draw_column(rng, kinds[node], parents, n, bent)
        while kinds[node] in ("binary", "category") and smallest_share(column, kinds[node]) < RAREST:
            column = draw_column(rng, kinds[node], parents, n, bent)
        columns[node] = column
    measured = {f"{kind}{node}": as_measured(columns[node], kind, family) for node, kind in enumerate(kinds)}
    return pd.DataFrame(measured), adjacency


def kinds_table(seed: int, d: int, n: int = 1000) -> tuple[pd.DataFrame, IntArray]:
    """Draw a table whose columns are of all `KINDS` in turns, and its graph, as `mixed_table` does with bends.

    Grades act as they were measured, and so do amounts, after log1p; other numbers as they were before.
    """
    adjacency = simulate_dag(d, 1.25 * d, "ER", random_state=seed)
    rng = np.random.default_rng([seed, 3])
    kinds = rng.permutation([KINDS[node % len(KINDS)] for node in range(d)]).tolist()
    drawn = ["number" if kind in MEASURED else kind for kind in kinds]
    columns: dict[int, Any] = {}
    measured = {}
    for node in topological_order(adjacency).tolist():
        parents = [(drawn[i], columns[i]) for i in np.flatnonzero(adjacency[:, node])]
        columns[node] = column = draw_column(rng, drawn[node], parents, n, 0.5)
        if kinds[node] in MEASURED:
            column = MEASURED[kinds[node]](standardized(column))
        if kinds[node] in ("grade", "amount"):
            columns[node] = np.log1p(column) if kinds[node] == "amount" else column
        measured[f"{kinds[node]}{node}"] = as_measured(column, drawn[node], "bends")
    return pd.DataFrame(measured)[[f"{kind}{node}" for node, kind in enumerate(kinds)]], adjacency


def draw_column(
    rng: np.random.Generator, kind: str, parents: list[tuple[str, Any]], n: int, bent: float
) -> FloatArray | IntArray:
    """Values of one column; categories as codes."""
    scores = np.zeros((n, 3 if kind == "category" else 1))
    if kind in ("category", "binary"):
        scores += 0.3 * rng.standard_normal(scores.shape[1])
    for parent_kind, parent in parents:
        scores += parent_effect(rng, parent_kind, parent, scores.shape[1], bent)
    if kind == "category":
        return draw_level(rng, scores)
    if kind == "binary":
        return draw_binary(rng, scores[:, 0])
    if kind == "count":
        return rng.poisson(np.exp(0.7 + (scores[:, 0] / 2).clip(-1.8, 1.8)))
    return scores[:, 0] + rng.standard_normal(n)


def parent_effect(rng: np.random.Generator, kind: str, parent: Any, width: int, bent: float) -> FloatArray:
    """What a parent adds to the scores (n, width) of a column, of a standard deviation of 0.7 to 2."""
    size = rng.uniform(0.7, 2.0)
    if kind in ("binary", "category"):
        return size * coefficients(rng, 2 if kind == "binary" else 3, width)[parent.astype(np.int64)]
    x = standardized(np.log1p(parent) if kind == "count" else parent)
    if rng.random() < bent:
        x = drawn_bend(rng, x)
    return size * x[:, None] * coefficients(rng, 1, width)


def drawn_bend(rng: np.random.Generator, x: FloatArray) -> FloatArray:
    """A smooth step, parabola or wave of a standardized column, standardized."""
    steep, place = rng.uniform(1.0, 2.0), rng.uniform(-0.5, 0.5)
    return standardized((np.tanh(2 * steep * (x - place)), (x - place) ** 2, np.sin(steep * x))[rng.integers(3)])


def coefficients(rng: np.random.Generator, levels: int, width: int) -> FloatArray:
    """Random numbers (levels, width) of mean square 1, centred along each axis of several entries."""
    drawn = rng.standard_normal((levels, width))
    for axis in (0, 1):
        if drawn.shape[axis] > 1:
            drawn -= drawn.mean(axis=axis, keepdims=True)
    return np.asarray(drawn / np.sqrt(np.mean(drawn**2)))


def as_measured(column: Any, kind: str, family: str) -> Any:
    """The column as a user would have it."""
    if kind == "category":
        return LEVELS[column]
    if kind == "number" and family == "rounded":
        return on_grid(column)
    if kind == "number" and family == "integers":
        return np.rint(50.0 + 10.0 * standardized(column)).astype(np.int64)
    return column


def smallest_share(column: Any, kind: str) -> float:
    """Share of rows that have the rarest level."""
    return float(np.bincount(column.astype(np.int64), minlength=2 if kind == "binary" else 3).min() / len(column))


def network(name: str, seed: int, n: int = 2000) -> tuple[pd.DataFrame, IntArray]:
    """Draw words from one of `NETWORKS`, which pgmpy ships, its columns in a random order."""
    from pgmpy.utils import get_example_model

    with quiet():
        model = get_example_model(name)
        drawn = model.simulate(n, seed=seed, show_progress=False)
    names = np.random.default_rng(seed).permutation(sorted(model.nodes())).tolist()
    adjacency = np.array([[int(model.has_edge(cause, effect)) for effect in names] for cause in names])
    return drawn[names].astype(str), adjacency


def draw_binary(rng: np.random.Generator, logits: FloatArray) -> Any:
    """Truth values with these logits, after they were centred."""
    return rng.random(len(logits)) < 1.0 / (1.0 + np.exp(logits.mean() - logits))


def draw_level(rng: np.random.Generator, scores: FloatArray) -> IntArray:
    """A level for each row (n, levels), with probabilities that are the softmax of its scores."""
    return np.asarray((scores + rng.gumbel(size=scores.shape)).argmax(axis=1))


def on_grid(x: FloatArray) -> FloatArray:
    """The column rounded to a step of one decimal digit, about a quarter of its standard deviation."""
    step = float(f"{GRID * x.std():.0e}")
    return np.asarray((step * np.rint(x / step)).round(10) + 0.0)  # no -0.0


def standardized(x: Any) -> FloatArray:
    """Columns of mean 0 and standard deviation 1."""
    return np.asarray((x - np.mean(x, axis=0)) / np.std(x, axis=0))
