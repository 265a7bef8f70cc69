"""What can be asked of a learner that was fitted? Its graph, curves, scores, how sure it is, pictures, a file."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from daguerreotype.arrays import BoolArray, FloatArray, IntArray
from daguerreotype.bootstrap import Bootstrap, bootstrap
from daguerreotype.columns import check_columns, check_finite, check_frame, column_names, read_table
from daguerreotype.fitted import Fitted
from daguerreotype.interventions import check_counted, count_set, read_interventions
from daguerreotype.persistence import Saved, load_learner, save_learner


class FittedLearner(BaseEstimator):  # type: ignore[misc]
    """The half of the learner that answers; :class:`daguerreotype.Daguerreotype` is the half that learns."""

    _fitted: Fitted  # columns in the order of the table that was learned on
    _columns: IntArray  # the user's column that each of the table is
    n_features_in_: int

    def _excluded(
        self, interventions: Any, X: Any, values: FloatArray, names: tuple[str, ...]
    ) -> BoolArray | None:
        """Values (n, d) that were set from outside, after all checks; None if none were."""
        numbered = not isinstance(X, pd.DataFrame)
        excluded = read_interventions(interventions, len(values), names, numbered=numbered)
        if excluded is not None:
            check_counted(values, excluded, names)
        return excluded

    def _store(self, names: tuple[str, ...], named: bool) -> None:
        """Fitted attributes, back in the user's order of columns."""
        learned, columns = self._fitted.learned, self._columns
        d = len(names)
        place = np.empty(d, dtype=np.int64)  # of each of the user's columns in the table
        place[columns] = np.arange(d)
        weights = np.zeros((d, d))
        adjacency = np.zeros((d, d), dtype=np.int64)
        for node, fit in enumerate(learned.fits):
            adjacency[columns[fit.parents], columns[node]] = 1
            weights[columns[fit.parents], columns[node]] = fit.weights
        probabilities = learned.edge_probabilities[np.ix_(place, place)]
        order = columns[learned.order]

        def frame(matrix: Any) -> Any:
            return pd.DataFrame(matrix, index=list(names), columns=list(names)) if named else matrix

        self.adjacency_matrix_ = frame(adjacency)
        self.weights_ = frame(weights)
        self.edge_probabilities_ = frame(probabilities)
        self.causal_order_ = [names[j] for j in order] if named else order
        self.theta_ = learned.theta[place]
        self.order_distribution_ = learned.distribution.relabelled(place)
        set_rows = np.zeros(d, dtype=np.int64)
        if learned.counted is not None:
            set_rows[columns] = learned.n_rows - learned.counted
        self.interventions_ = count_set(set_rows, names if named else range(d))
        self.loss_ = learned.loss
        self.interrupted_ = learned.interrupted
        self.history_ = replace(learned.history, theta=learned.history.theta[:, place])
        self.n_iter_ = len(learned.history)

    @property
    def causal_graph_(self) -> nx.DiGraph:
        """The graph with column names (or numbers) as nodes; edges carry ``weight`` and ``probability``."""
        check_is_fitted(self)
        labels = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        weights, probabilities = np.asarray(self.weights_), np.asarray(self.edge_probabilities_)
        graph = nx.DiGraph()
        graph.add_nodes_from(labels)
        for i, j in np.argwhere(np.asarray(self.adjacency_matrix_)):
            graph.add_edge(
                labels[i], labels[j], weight=float(weights[i, j]), probability=float(probabilities[i, j])
            )
        return graph

    def curve(self, cause: Any, effect: Any, values: Any) -> FloatArray:
        """What ``cause`` contributes to ``effect`` at the given values of it, for ``edges="gam"``.

        Parameters
        ----------
        cause, effect : str or int
            Columns, by name or by number; cause must be a parent of effect.
        values : array of shape (m,)
            Values of the cause, in the units of the table that was fitted.

        Returns
        -------
        array of shape (m,)
            The fitted component, with mean zero over the training rows, on the scale that was learned on: that of
            ``transform_``, in standard deviations of the effect if columns were standardized.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> cause = np.linspace(-1, 1, 200)
        >>> effect = cause**2 + np.tile([-0.01, 0.01], 100)
        >>> m = Daguerreotype(transform="none").fit(np.column_stack([cause, effect]))
        >>> m.curve(0, 1, [-1.0, 0.0, 1.0]).round(1)
        array([ 2.2, -1.1,  2.2])
        """
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        for column in (cause, effect):
            if column not in names:
                raise ValueError(f"{column!r} is no column of the fitted table; its columns are {names}.")
        place = np.argsort(self._columns)
        return self._fitted.curve(
            int(place[names.index(cause)]), int(place[names.index(effect)]), np.asarray(values, dtype=np.float64)
        )

    def score(self, X: Any, y: None = None, *, interventions: Any = None) -> float:
        r"""Mean log-likelihood per row of ``X`` under the learned graph; rows need not have been seen.

        Residuals are taken as Gaussian with the variances of training, on the scale of ``transform_``; the change
        of scale is accounted for, so that scores of different transforms compare. A column that was set from
        outside in a row, as ``interventions`` say like those of :meth:`fit`, has no likelihood there.
        """
        check_is_fitted(self)
        check_frame(X)
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=False)
        names = column_names(X, values.shape[1])
        check_finite(values, names)
        numbered = not isinstance(X, pd.DataFrame)
        excluded = read_interventions(interventions, len(values), names, numbered=numbered)
        if excluded is not None:
            excluded = excluded[:, self._columns]
        return self._fitted.score(values[:, self._columns], excluded)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted learner to one file, from which :meth:`load` makes it again.

        The file is an npz archive of plain arrays with a JSON header: reading it never runs code. It holds the
        settings, all fitted attributes and what :meth:`score` and :meth:`curve` need: coefficients, medians,
        scales and spline knots (quantiles, with the ends), but no row. An old file is replaced in one step.

        Objects and functions of your own, such as a scikit-learn regressor as ``edges``, are only named in the
        file: the loaded learner has their graph, but cannot score rows until it was fitted again.

        Parameters
        ----------
        path : path
            The file, as it is to be called; nothing is appended.

        Examples
        --------
        >>> import numpy as np, os, tempfile
        >>> from daguerreotype import Daguerreotype
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.npz")
        ...     Daguerreotype(edges="bic").fit(X).save(path)
        ...     Daguerreotype.load(path).adjacency_matrix_
        array([[0, 0],
               [0, 0]])
        """
        check_is_fitted(self)
        saved = Saved(
            settings=self.get_params(deep=False),
            attributes={name: getattr(self, name) for name in ("transform_", "criterion_")},
            columns=self._columns,
            named=isinstance(self.adjacency_matrix_, pd.DataFrame),
            texts=hasattr(self, "feature_names_in_"),
            fitted=self._fitted,
        )
        save_learner(path, saved)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fitted learner that :meth:`save` wrote.

        A setting that the file could not hold comes back as a placeholder; set it with ``set_params`` before
        fitting again.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is cut short, is something else, or was written by a newer version.
        """
        saved = load_learner(path)
        unknown = set(saved.settings) - set(cls._get_param_names())
        if unknown:
            raise ValueError(
                f"{path} has settings that this version does not know: {', '.join(sorted(unknown))}. Update it: "
                "pip install --upgrade daguerreotype."
            )
        learner = cls(**saved.settings)
        learner._fitted, learner._columns = saved.fitted, saved.columns
        for name, value in saved.attributes.items():
            setattr(learner, name, value)
        names = tuple(saved.fitted.table.names[j] for j in np.argsort(saved.columns))
        learner.n_features_in_ = len(names)
        if saved.texts:
            learner.feature_names_in_ = np.array(names, dtype=object)
        learner._store(names, saved.named)
        return learner

    def bootstrap(
        self,
        X: Any,
        n_resamples: int = 100,
        *,
        random_state: int = 0,
        n_jobs: int | None = None,
        resume: str | os.PathLike[str] | None = None,
        fraction: float = 1.0,
        replace: bool = True,
        threshold: float = 0.5,
        fit_params: Mapping[str, Any] | None = None,
    ) -> Bootstrap:
        """How sure is each edge? Learn from resampled rows, many times, and count.

        Needs no fit before and changes nothing about this learner. Ties that the data leave open (two directions
        that explain the rows equally well) are broken anew in every resample, so that they show as frequencies
        near one half. With ``verbose`` one bar shows how many resamples are done.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The table, as for :meth:`fit`.
        n_resamples : int
            How many. 100 give frequencies to within 0.1; :meth:`Bootstrap.edge_intervals` says how closely.
        random_state : int
            Seed; every resample has a stream of its own below it. More resamples later begin with the same ones.
        n_jobs : int or None
            Processes, by joblib; ``joblib.parallel_config`` chooses other backends, "dask" for a cluster. The
            result does not depend on it.
        resume : path, optional
            File that every finished resample is added to. If it exists, its resamples are not done again: a run
            that was killed or interrupted ends as if it had not been. A file of another table, learner or seed is
            refused.
        fraction : float
            Rows per resample, as a share of n.
        replace : bool
            Draw rows with replacement. Repeated rows make chance look a little like dependence: with many rows,
            ``replace=False, fraction=0.5`` finds fewer wrong edges (stability selection, Meinshausen and Bühlmann
            2010); with few, half of them are too little to find the right ones.
        threshold : float
            Least frequency of the edges of the consensus; it can be changed afterwards.
        fit_params : dict, optional
            Further arguments of :meth:`fit` by name. What has one entry per row of X is resampled with the rows.

        Returns
        -------
        Bootstrap
            Frequencies of edges, ancestors and orders, and a consensus that is a DAG.

        Notes
        -----
        Rows that cannot be fitted, because a rare value is not among them and a column is constant, are drawn
        again, up to 10 times in one resample; then it is left out and listed in ``failures``.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> cause = rng.normal(size=200)
        >>> X = np.column_stack([cause**2 + 0.1 * rng.normal(size=200), cause])
        >>> sure = Daguerreotype(transform="none").bootstrap(X, n_resamples=5)
        >>> sure.edge_frequencies
        array([[0., 0.],
               [1., 0.]])
        """
        # The table itself must be fit for learning, whatever its resamples are.
        values, names = read_table(clone(self), X)
        check_columns(values, names)
        self._excluded((fit_params or {}).get("interventions"), X, values, names)
        return bootstrap(
            self,
            X,
            n_resamples,
            random_state=random_state,
            n_jobs=n_jobs,
            resume=resume,
            fraction=fraction,
            replace=replace,
            threshold=threshold,
            fit_params=fit_params,
        )

    def plot(
        self,
        kind: Literal["graph", "training", "scores", "order", "curves"] = "graph",
        *,
        truth: Any = None,
        X: Any = None,
        effect: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw the fit with matplotlib.

        Parameters
        ----------
        kind : {"graph", "training", "scores", "order", "curves"}
            "graph": causes on the left, width by weight, opacity by probability. "training": the loss, step by
            step. "scores": theta. "order": how probably each column precedes each other. "curves": the effect of
            every cause, for ``edges="gam"``.
        truth : array, DataFrame or networkx.DiGraph, optional
            A known graph; "graph" then tells correct, missing, wrong and reversed edges apart.
        X : DataFrame or array of shape (n, d), optional
            For "curves", which run over the values in it.
        effect : str or int, optional
            For "curves": only those of this column's causes.
        ax : matplotlib Axes, or an array of them for "curves", optional
            Where to draw; a new figure if None.

        Returns
        -------
        Axes, or an array of Axes for "curves"
        """
        from daguerreotype.plotting.draw_fit import plot_fit

        check_is_fitted(self)
        return plot_fit(self, kind, truth=truth, X=X, effect=effect, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        truth: Any = None,
        bootstrap: Any = None,
        title: str = "Learned graph",
    ) -> Path:
        """Write everything there is to see of the fit to one HTML page, which needs no network to open.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced.
        X : DataFrame or array of shape (n, d), optional
            Rows to summarise and to score: the training table, or better one that was held out.
        truth : array, DataFrame or networkx.DiGraph, optional
            A known graph to compare with.
        bootstrap : record with ``edge_frequencies``, optional
            What :meth:`bootstrap` returned; adds how often each edge was found.
        title : str
            Heading of the page.

        Returns
        -------
        Path
            Where the page was written.
        """
        from daguerreotype.report import write_report

        check_is_fitted(self)
        return write_report(self, path, X, truth=truth, bootstrap=bootstrap, title=title)
