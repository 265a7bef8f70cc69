"""Edges by any scikit-learn regressor, with cross-validated residuals."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from daguerreotype._lib.checks import Check, check_count, check_parameters, check_seed, one_of, optional
from daguerreotype._lib.labels import listed
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.base import LEFT_OUT, Capabilities, EdgeEstimator, EdgeRules, LocalFit, LocalModels
from daguerreotype.edges.predictors import norms_of_lines

STANDARD_ERRORS = 2.0  # by how many a gain on unseen rows must exceed zero
SETTINGS: Mapping[str, Check] = {
    "selection": one_of("auto", "permutation"),
    "cv": optional(partial(check_count, least=2)),
    "random_state": optional(check_seed),
}
FAIR_FRACTION = 0.5  # of the uniform share: less would keep noise columns of a forest, more drop weak parents


class Importances(NamedTuple):
    """Importances of p columns, from whichever source the regressor offers, and the rule of that source.

    Attributes
    ----------
    shares : array of shape (p,)
        Non-negative, summing to one (or all zero).
    clear : array of shape (p,)
        Columns that the rule keeps.
    """

    shares: FloatArray
    clear: BoolArray


def importances_of_model(model: Any, spreads: FloatArray) -> Importances | None:
    """Read ``coef_`` times the columns' ``spreads``, or ``feature_importances_``; None without both."""
    coefficients = coefficients_of(model, spreads.size)
    if coefficients is not None:
        shares = _scale(np.abs(coefficients) * spreads)
        if (coefficients == 0).any():
            return Importances(shares, coefficients != 0)
    else:
        own = getattr(model, "feature_importances_", None)
        if own is None or np.size(own) != spreads.size:
            return None
        shares = _scale(np.asarray(own, dtype=np.float64).reshape(-1))
    return Importances(shares, (shares > 0) & (shares >= FAIR_FRACTION / shares.size))


def exceeds_chance(gains: FloatArray) -> BoolArray:
    """Whether the mean over rows lies above zero by more than two standard errors."""
    threshold = STANDARD_ERRORS * gains.std(axis=0) / np.sqrt(len(gains))
    return np.asarray(gains.mean(axis=0) > threshold)


def coefficients_of(model: Any, n_columns: int) -> FloatArray | None:
    """One linear coefficient per column, or None where the model is not of that kind."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None or np.size(coefficients) != n_columns:
        return None
    return np.asarray(coefficients, dtype=np.float64).reshape(-1)


def _scale(importances: FloatArray) -> FloatArray:
    """Clip at zero and divide by the sum."""
    clipped: FloatArray = np.maximum(importances, 0.0)
    total = clipped.sum()
    return clipped / total if total > 0 else clipped


@dataclass(frozen=True)
class RegressorEdges(EdgeEstimator):
    r"""Parents that a regressor of scikit-learn's kind makes use of.

    For each node: fit a clone on all p predecessors, measure their importances, select parents, fit
    again on those alone. Importances are |coef_| times the column's standard deviation where the clone has
    ``coef_``, else its ``feature_importances_``, else the growth of the squared error when a column is
    permuted in rows that the clone has not seen; always scaled to sum to one. Variance and residuals

        e_i = x_ij - f_{-fold(i)}(x_i,parents),        variance = 1/n sum_i e_i^2

    come from cross-validation: a flexible learner explains its own training rows in any order of the nodes.
    Parents stay only if they beat the mean on unseen rows by two standard errors of the gain.

    Parameters
    ----------
    regressor : object with fit and predict
        Cloned before every fit. Prefer one that is quick: a run fits it hundreds to thousands of times.
    selection : {"auto", "permutation"}
        "auto" keeps the non-zeros of a ``coef_`` that has zeros, else importances of at least half the
        uniform share 1/p; without both attributes it is "permutation": columns whose permutation adds
        squared error by more than two standard errors.
    random_state : int or None
        Seeds folds, permutations and every ``random_state`` that the regressor leaves open. An int gives
        the same result each time; rows may come in any order.
    cv : int or None
        Number of folds. None takes variance and residuals from the training rows: quicker, and fair only
        to learners that cannot overfit.

    Notes
    -----
    Weights are the coefficients of the second fit where it has ``coef_``. Otherwise they have no sign: weights and
    norms are the square root of each parent's share of the variance that is explained.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from daguerreotype.edges import Table
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> x[:, 2] += 2 * x[:, 0]
    >>> edges = RegressorEdges(Lasso(alpha=0.5), random_state=0)
    >>> models = edges.prepare(Table(x - x.mean(axis=0), ("a", "b", "c")))
    >>> models.fit(2, np.array([0, 1])).parents
    array([0])
    """

    regressor: Any
    selection: Literal["auto", "permutation"] = "auto"
    random_state: int | None = None
    _: KW_ONLY
    cv: int | None = 3

    can: ClassVar[Capabilities] = Capabilities(rules=True, residuals=True, predictions=True, processes=True)

    def prepare(self, table: Table, rules: EdgeRules | None = None) -> "RegressorModels":
        """Check the settings; draw the folds. Required parents are always selected."""
        _check_regressor(self.regressor)
        check_parameters(vars(self), SETTINGS)
        return RegressorModels(self, table, rules)


class RegressorModels(LocalModels):
    """A regressor that has met its table; every fit of the same node and predecessors is the same."""

    can = Capabilities(residuals=True, predictions=True, processes=True)

    def __init__(self, edges: RegressorEdges, table: Table, rules: EdgeRules | None = None) -> None:
        self.table = table
        self.selection = edges.selection
        rng = np.random.default_rng(edges.random_state)
        self.seed = int(rng.integers(2**31 - 1))
        self.regressor = _with_seed(edges.regressor, self.seed)
        # Rows are put in an order of their own before they are shuffled, by extremes first, which do not depend on
        # the order of the columns: the table's order plays no part.
        values = table.values
        self.rows: IntArray = rng.permutation(np.lexsort([*values.T, values.min(axis=1), values.max(axis=1)]))
        self.values: FloatArray = table.values[self.rows]
        self.splits = _splits(table.n_rows, edges.cv)
        self.rules = rules

    def fit(self, node: int, predecessors: IntArray) -> LocalFit:
        """Choose parents of ``node`` among ``predecessors`` and fit the regressor on those alone."""
        columns = np.array(predecessors, dtype=np.int64)
        required = np.zeros(columns.size, dtype=np.bool_)
        if self.rules is not None:
            required = self.rules.required[columns, node]
        nothing = LocalFit.gaussian(columns[:0], np.zeros(0), float(self.table.moments[node, node]), 0.0)
        if columns.size == 0:
            return nothing
        model = self._train(node, columns, slice(None))
        importances = self._importances(model, node, columns)
        kept = importances.clear | required
        fit, clear = self._fit_again(node, columns, kept, required, model, importances.shares)
        if clear:
            return fit
        if not required.any():
            return nothing
        return self._fit_again(node, columns, required, required, model, importances.shares)[0]

    def _fit_again(
        self, node: int, columns: IntArray, kept: BoolArray, required: BoolArray, model: Any, shares: FloatArray
    ) -> tuple[LocalFit, bool]:
        """The fit on the columns kept alone, and whether it clearly beats the mean on unseen rows."""
        parents, weights, norms = columns[kept], shares[kept], LEFT_OUT
        linear = coefficients_of(model, columns.size) is not None
        if linear and parents.size:
            refit = model if kept.all() else self._train(node, parents, slice(None))
            weights = np.asarray(coefficients_of(refit, parents.size))
            used = (weights != 0) | required[kept]
            parents, weights = parents[used], weights[used]
            norms = norms_of_lines(self.table, parents, weights)

        residuals = self._residuals(node, parents)
        gains = self.values[:, node] ** 2 - residuals**2
        if not linear:
            least = np.finfo(np.float64).eps  # a parent's weight is never zero
            weights = np.maximum(weights, least)
            weights = np.sqrt(weights / weights.sum() * max(gains.mean(), least))
        fit = LocalFit.gaussian(parents, weights, float(np.mean(residuals**2)), float(parents.size), norms=norms)
        return fit, parents.size > 0 and bool(exceeds_chance(gains))

    def residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Cross-validated residuals of ``fit``, shape (n,), in the order of the table's rows."""
        residuals: FloatArray = np.empty(self.rows.size)
        residuals[self.rows] = self._residuals(node, fit.parents)
        return residuals

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Fitted values (m,) of ``node`` for rows (m, d), by the regressor trained on all rows."""
        if fit.parents.size == 0:
            return np.zeros(values.shape[0])
        model = self._train(node, fit.parents, slice(None))
        return self._predict(model, values[:, fit.parents], node, fit.parents)

    def _importances(self, model: Any, node: int, columns: IntArray) -> Importances:
        """Importances of ``columns`` from the fitted ``model``, or from permutations."""
        importances = None
        if self.selection != "permutation":
            importances = importances_of_model(model, self.values[:, columns].std(axis=0))
        if importances is None:
            growth = self._growth(node, columns)
            importances = Importances(_scale(growth.mean(axis=0)), exceeds_chance(growth))
        return importances

    def _growth(self, node: int, columns: IntArray) -> FloatArray:
        """How much the squared error of each unseen row grows when a column is permuted, (n, p)."""
        rng = np.random.default_rng(self.seed)
        growth = np.empty((self.rows.size, columns.size))
        for train, test in self.splits:
            model = self._train(node, columns, train)
            target, inputs = self.values[test, node], self.values[test][:, columns]
            error = target - self._predict(model, inputs, node, columns)
            for j in range(columns.size):
                permuted = inputs.copy()
                permuted[:, j] = rng.permutation(permuted[:, j])
                growth[test, j] = (target - self._predict(model, permuted, node, columns)) ** 2 - error**2
        return growth

    def _residuals(self, node: int, parents: IntArray) -> FloatArray:
        """Residuals on rows that the fit has not seen, in the shuffled order."""
        residuals: FloatArray = self.values[:, node].copy()
        if parents.size:
            for train, test in self.splits:
                model = self._train(node, parents, train)
                residuals[test] -= self._predict(model, self.values[test][:, parents], node, parents)
        return residuals

    def _train(self, node: int, columns: IntArray, rows: IntArray | slice) -> Any:
        """Fit a fresh clone for ``node`` on ``columns``."""
        model = clone(self.regressor, safe=False)
        try:
            model.fit(self.values[rows][:, columns], self.values[rows, node])
        except ValueError as error:  # which knows neither the columns nor where it comes from
            raise ValueError(
                f"{type(model).__name__} could not be fitted to {self.table.names[node]!r} on "
                f"{listed([self.table.names[j] for j in columns])}: {error}"
            ) from error
        return model

    def _predict(self, model: Any, inputs: FloatArray, node: int, columns: IntArray) -> FloatArray:
        """Predict, and refuse what is not a number."""
        predicted: FloatArray = np.asarray(model.predict(inputs), dtype=np.float64).reshape(-1)
        if not np.isfinite(predicted).all():
            raise ValueError(
                f"{type(model).__name__} predicted a value that is not finite for {self.table.names[node]!r} from "
                f"{listed([self.table.names[j] for j in columns])}. Scale the columns, or choose a more "
                "regularized regressor."
            )
        return predicted


def _splits(n_rows: int, cv: int | None) -> list[tuple[IntArray, IntArray]]:
    """Rows to train on and rows to predict, per fold; without folds both are all rows."""
    rows = np.arange(n_rows)
    folds = min(cv or 1, n_rows)
    if folds == 1:
        return [(rows, rows)]
    return [(rows[rows % folds != fold], rows[rows % folds == fold]) for fold in range(folds)]


def _with_seed(regressor: Any, seed: int) -> Any:
    """Clone ``regressor``, with ``seed`` for every random_state it leaves open."""
    seeded = clone(regressor, safe=False)
    if hasattr(seeded, "get_params"):
        parameters = seeded.get_params(deep=True).items()
        unset = [name for name, value in parameters if name.endswith("random_state") and value is None]
        seeded.set_params(**dict.fromkeys(unset, seed))
    return seeded


def _check_regressor(regressor: Any) -> None:
    """Refuse what cannot be fitted to a column of numbers."""
    if isinstance(regressor, type):
        raise TypeError(
            f"regressor is the class {regressor.__name__}: expected an object. Write {regressor.__name__}()."
        )
    name = type(regressor).__name__
    missing = [method for method in ("fit", "predict") if not callable(getattr(regressor, method, None))]
    if missing:
        raise TypeError(
            f"{name} has no {' and no '.join(missing)}: expected a regressor with fit and predict. "
            "Pass for example HistGradientBoostingRegressor()."
        )
    if hasattr(regressor, "__sklearn_tags__") and is_classifier(regressor):
        raise TypeError(
            f"{name} is a classifier: expected a regressor, as all columns are numbers. "
            "Use the regressor of the same family."
        )
