"""The learner: a scikit-learn estimator that fits a DAG to a table and answers questions about it."""

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from daguerreotype.bootstrap import Bootstrap, bootstrap
from daguerreotype.bootstrap.posteriors import sample_posterior
from daguerreotype.data.inputs import ReadTable, rows_of, table_of_chunks, table_of_moments, table_of_rows
from daguerreotype.data.kinds import Kind, read_given
from daguerreotype.data.streams import read_source
from daguerreotype.graphs.cpdag import EquivalenceClass, equivalence_class
from daguerreotype.paper import paper_settings
from daguerreotype.persistence.codec import check_saved
from daguerreotype.persistence.learner_file import load_learner, save_learner
from daguerreotype.pipeline import fit_table
from daguerreotype.training.plan import make_plan
from daguerreotype.training.run import Run, running
from daguerreotype.training.settings import check_settings, check_streamable, numbers_alone, read_part

if TYPE_CHECKING:
    from daguerreotype._lib.typing import FloatArray
    from daguerreotype.data.table import Table
    from daguerreotype.missing.imputation import Imputation
    from daguerreotype.posterior import Posterior
    from daguerreotype.result import FitResult

logger = logging.getLogger("daguerreotype")


class Daguerreotype(BaseEstimator):  # type: ignore[misc]
    r"""Learn a directed acyclic graph from a table of observations.

    Learns a score theta per column. The scores induce a sparse distribution p over orderings, a regression
    picks the parents of each column among those before it, and theta minimises the expected loss (eq. 10):

    .. math:: \min_\theta \; \mathbb{E}_{\sigma \sim p(\theta)} [ L(\sigma) ] + l_2 \|\theta\|^2 .

    Every graph on the way is a DAG: no threshold, no penalty, no repair. The defaults are those that
    synthetic problems of many kinds favour; :meth:`paper` gives the settings of the paper.

    Parameters
    ----------
    edges : {"gam", "bic", "lars", "lasso", "linear", "mlp"}, regressor, or EdgeEstimator
        From predecessors to parents. "gam": lines, splines from smooth to rough, and products of two causes, each
        where it is worth its parameters. "bic": linear, the fastest for many columns. "lars": the paper's.
        "linear", "mlp": L0 gates trained by gradient (needs torch). Any scikit-learn regressor.
    noise : "auto", a name, a NoiseModel, or a dict of them by column
        Distribution of a column given its parents. "auto": for continuous columns what the loss implies,
        "gaussian" or "free-shape"; for the loss "auto" a Gaussian whose spread may depend on the parents, or any
        shape as far as it gains more than chance, but for linear edges and streamed rows "gaussian"; "bernoulli"
        for binary ones, "categorical" for levels; "ordinal" or "categorical" for levels with an order, "poisson",
        "negative-binomial" or "gaussian", rounded to whole numbers, for counts: for every set of parents whichever
        is likelier. A single name holds for all columns of the kinds that it can describe; ``columns_`` says what
        each got.
    scales : {"auto", "none", "log", "yeo-johnson"}
        Scale of continuous columns. "auto": columns are causes as they came; as an effect each is, on every set of
        causes, on the likeliest scale, by the likelihood of the values as they came, the measured one having the
        benefit of the doubt; ``columns_`` says which. Other names hold for causes and effects alike. Fewer than 50
        rows stay as they came, and so do rows that are streamed, and all columns with edges other than "gam" and
        "bic", which cannot weigh scales.
    kinds : "auto" or dict
        How columns are measured: "continuous", "count", "binary", "ordinal" or "categorical". "auto" tells by
        types and values; ``columns_`` says what and why. A dict such as ``{"age": "count", 3: "ordinal"}`` says
        otherwise for some columns, by name or, of arrays, by number; its values may be kinds of another fit.
        Edges other than "gam" and "bic" and losses other than "auto", "bic" and "entropy" take numbers alone.
    missing : {"auto", "error", "drop"}
        What to do with missing values (nan, None, NA, empty cells). "auto" learns from all rows: linear edges
        under Gaussian noise from the moments that EM expects; all others by stochastic EM, which completes the
        table several times by draws from what was learned, a value's causes *and* effects informing it, and learns
        again until the graph settles. That is right if values are missing at random given what is seen; nothing
        can tell if they are missing because of what they are. "drop" leaves out rows with gaps, "error" refuses.
        ``missing_`` says what was done.
    knowledge : Knowledge, dict, path or None
        What is known beforehand: forbidden and required edges, tiers, roots and leaves, how many parents
        columns may have; as :class:`Knowledge`, as a dict of its arguments, or as a TOML or JSON file of
        them. Every order of the distribution and every graph obeys it.
    penalty : float or None
        Multiplies the penalty per parameter of "bic" and "gam" edges and of the "bic" and "entropy" losses. 1 is
        BIC; 2 gives fewer edges, and fewer wrong ones. None takes BIC and adds 2 log(d) for every parent, the
        extended BIC (Chen and Chen 2008): the more columns, the more could be parents by chance. Below fifty rows
        None adds more, and "gam" and "bic" edges are straight, sparse, and between columns as they came.
    trust : float or None
        Rows of evidence at most, N, for "gam" and "bic" edges: n rows are worth n N / (n + N) of them, in what
        parents pay, in comparing orders and in probabilities. No model is exactly right, and in long tables BIC
        buys edges to make up for that, and is sure of them. More of it where the model is known to hold; None:
        every row counts, as for all other edges.
    min_gain : float
        Share of what is left of a column, given its other causes, that an edge must explain. "gam" and "bic" edges
        that explain less are weak: they are left out of the graph, and listed in ``weak_edges_``. 0.02 leaves out
        edges of a partial correlation below 0.14, however many rows show them; 0 leaves out none.
    operator : {"sparsemax", "sparsemap", "random"}, an object, or callable
        From scores to orderings. "sparsemax" spreads mass over the best orders, "sparsemap" over orders whose mean
        is the projection of theta. An object says more: :class:`~daguerreotype.operators.Sparsemax` and
        :class:`~daguerreotype.operators.SparseMAP` how many orders and at what temperature;
        :class:`~daguerreotype.operators.FixedOrder` keeps an order that is known, "random" draws one. A callable
        takes (theta, tau) and returns an OrderDistribution; its attribute ``tau``, if it has one, is the
        temperature, else 1.
    training : {"bilevel", "joint"} or an object
        "bilevel" fits the edges of every order on their own, and theta by their losses. "joint" trains theta and
        one set of edges for all orders together: faster, less exact, for "linear" and "mlp" edges only. Objects
        :class:`~daguerreotype.training.Bilevel` and :class:`~daguerreotype.training.Joint` hold the loss, the
        start, rates, steps and restarts.
    posterior : int
        Sweeps of the sampler of graphs that a fit ends with: ``edge_probabilities_`` are its. A hundred take
        some hundredths of a second, and tell probabilities to within 0.1; :meth:`sample_posterior` takes more.
        0 leaves it out.
    standardize : bool
        Scale columns to variance one. Leave it on unless all columns share one natural scale.
    n_jobs : int or None
        Threads, -1 for one per core: for restarts of refining with "gam" and "bic" edges, each thread with search
        trees of its own, or for the local fits of other edges. An own estimator's ``fit`` must allow that;
        regressors go to processes once they take long. Within a worker of joblib there is one. The result does
        not depend on it.
    random_state : int or None
        Seeds random orders, ties among equal scores, and estimators that draw. None breaks ties by the data. Not a
        Generator: two fits of one learner are to find the same.
    verbose : int
        1 shows a progress bar; 0 is silent.

    Attributes
    ----------
    adjacency_matrix_ : array or DataFrame of shape (d, d)
        1 where column i is a parent of column j; a DataFrame if X was one.
    edges_ : DataFrame
        A row for every edge, the surest first: ``cause`` and ``effect``; ``weight``, its slope with its sign, see
        ``weights_``; ``norm``, the size of the effect whatever its shape, the standard deviation of what the cause
        contributes; ``slope``, the weight in the ``unit`` that stands beside it: by how much the effect changes as
        the cause grows by one, each on its scale; ``probability`` and ``reverse_probability``, that of the same
        edge turned around; and ``direction_open``, whether the reverse has a quarter of both or more. The last
        three are missing without a posterior.
    weak_edges_ : DataFrame
        Edges that were left out because they explain less than ``min_gain``: ``cause``, ``effect``, the share that
        each ``explains`` of what is left of its effect, and its ``probability``.
    edge_probabilities_ : array or DataFrame of shape (d, d), or None
        Posterior probability of each edge, given the table and the model; of two directions that no data can tell
        apart, each has its half. None where there is no posterior.
    posterior_ : Posterior or None
        All of the short posterior: pairs, ancestors, graphs, and whether it settled. None with ``posterior=0``,
        after joint training, and for losses that are no sum over columns, such as "nll_ev".
    causal_order_ : list or array of length d
        The most probable order, names if X had them.
    causal_graph_ : networkx.DiGraph
        The graph, with ``weight``, ``norm``, ``probability`` and ``reverse_probability`` of every edge.
    columns_ : DataFrame
        A row for every column. ``kind`` and, in ``notes``, why. ``scale``, on which its causes' effects and its
        noise add up: "none", as measured; "log" and "log(x + 2)"; "-log(9 - x)" from the other end; "logit(0, 1)"
        between both; "asinh((x - 4) / 2)" in either direction from the middle, "modulus(0.5, (x - 4) / 2)", a
        power of the distance from there; "yeo-johnson(0.5)", a power of the standardized column. Of a column
        without causes no scale is likelier than another: there it is the one on which it looks most Gaussian.
        ``cause_scale``, on which a straight effect of it is straight. ``noise``, the model of it given its causes;
        ``missing``, the share of its values that were; ``intervened``, in how many rows it was intervened on.
    weights_ : array or DataFrame of shape (d, d)
        Slope of every edge, with its sign: the coefficient of a line; of a curve f(x) the slope of the best line
        through it, cov(f(x), x) / var(x), an average of its slopes; the average slope of a network. In standard
        deviations of effect and cause if columns were standardized. Regressors without coefficients give no sign:
        theirs are the norms.
    theta_ : array of shape (d,)
        Scores.
    order_distribution_ : OrderDistribution
        The sparse distribution over orders. Training drives it to one order, so that it says little about how sure
        an edge is.
    history_ : FitHistory
        What training saw, step by step.
    loss_ : float
        Loss of the mode, per row.
    missing_ : MissingValues or None
        Where values were missing, and what was done about it; None if none was.
    interrupted_ : bool
        Whether Ctrl-C came during the fit; the best that was found until then was kept. A second one raises
        KeyboardInterrupt at once, and nothing is kept.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype import Daguerreotype
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=500)
    >>> X = np.column_stack([cause**2 + 0.1 * rng.normal(size=500), cause])
    >>> Daguerreotype().fit(X).adjacency_matrix_
    array([[0, 0],
           [1, 0]])
    """

    _result: "FitResult"
    _table: "Table | None" = None  # what was read, while it is in memory
    n_features_in_: int

    def __init__(
        self,
        edges: Any = "gam",
        *,
        noise: Any = "auto",
        scales: Literal["auto", "none", "log", "yeo-johnson"] = "auto",
        kinds: Any = "auto",
        missing: Literal["auto", "error", "drop"] = "auto",
        knowledge: Any = None,
        penalty: float | None = None,
        trust: float | None = 5000.0,
        min_gain: float = 0.02,
        operator: Any = "sparsemax",
        training: Any = "bilevel",
        posterior: int = 100,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.edges = edges
        self.noise = noise
        self.scales = scales
        self.kinds = kinds
        self.missing = missing
        self.knowledge = knowledge
        self.penalty = penalty
        self.trust = trust
        self.min_gain = min_gain
        self.operator = operator
        self.training = training
        self.posterior = posterior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(
        cls,
        operator: Literal["sparsemax", "sparsemap"] = "sparsemax",
        edges: Literal["lars", "linear", "mlp"] = "lars",
        training: Literal["bilevel", "joint"] = "bilevel",
        fits: Literal["published", "converged"] = "published",
        **changes: Any,
    ) -> Self:
        """The learner with the settings of one of the paper's ten configurations, with ``changes``.

        Equal-variance likelihood, 100 orders, temperature 1, theta from zeros, standardized columns, no change
        of scale, no refinement. Theta's rate is 0.1, but 0.05 for sparsemax with LARS and 0.01 in joint training;
        lambda is 0.01 in bilevel training, and in joint training 0.01 or 0.001 (linear, SparseMAP or sparsemax)
        and 0.001 or 0.0001 (mlp). Bilevel mlp edges are slow to fit, so their SparseMAP peels.

        Parameters
        ----------
        operator : {"sparsemax", "sparsemap"}
            From scores to orders.
        edges : {"lars", "linear", "mlp"}
            The edge estimator.
        training : {"bilevel", "joint"}
            Joint training is for linear and mlp edges.
        fits : {"published", "converged"}
            How linear and mlp edges are fitted: in the manner of the authors' code, which the published graphs
            come from and which stops long before the optimum
            (:meth:`GradientEdges.as_published <daguerreotype.edges.GradientEdges.as_published>`), or as these
            edges do by themselves.
        **changes
            Other arguments of the learner, or of its parts, as ``training__max_iter``. ``random_state`` is that of
            the edges, too.
        """
        settings = paper_settings(operator, edges, training, fits, seed=changes.get("random_state"))
        learner: Self = cls(**settings).set_params(**changes)
        return learner

    def set_params(self, **params: Any) -> Self:
        """Change settings by name; those of operator and training as ``operator__k`` and ``training__max_iter``.

        A part that has a short name becomes the object that the name stands for.
        """
        for part in ("operator", "training"):
            current = params.get(part, getattr(self, part))
            if isinstance(current, str) and any(name.startswith(f"{part}__") for name in params):
                params = {**params, part: read_part(part, current)}
        learner: Self = super().set_params(**params)
        return learner

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        interventions: Any = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the graph of the columns of ``X``.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            Observations, one row each: numbers, truth values, text and categories; nan, None or NA where a value
            is missing. Frames of pandas, of polars, and tables of pyarrow.
        y : None
            Ignored; there for pipelines.
        interventions : sequence of n entries, or boolean table of shape (n, d), optional
            Which columns were intervened on in each row, by an experiment: None, a column, or several, row by row;
            or True where a column was intervened on. What such a row says about a column's causes is left out,
            what it says about its effects counts: this tells directions apart that observations alone cannot.
        resume : path, optional
            File that the fit is saved to about every 30 seconds, all of its stages: training, refining, draws of
            missing values, the posterior. If it exists, the fit goes on from it: one that was killed ends as if it
            had not been. Only one process at a time can use it.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> cause = rng.normal(size=300)
        >>> X = np.column_stack([cause + rng.normal(size=300), cause])
        >>> X[:100, 0] = 2 * rng.normal(size=100)  # in a third of the rows the effect was intervened on
        >>> m = Daguerreotype(scales="none").fit(X, interventions=[0] * 100 + [None] * 200)
        >>> m.adjacency_matrix_
        array([[0, 0],
               [1, 0]])
        >>> m.columns_["intervened"].tolist()
        [100, 0]
        """
        settings = self._settings()
        with running(settings, resume) as (run, _):
            with run.cancel.at_once():
                alone = numbers_alone(settings)
                read = table_of_rows(self, X, interventions, self.kinds, numbers_alone=alone, missing=self.missing)
            return self._learn(read, settings, run)

    def fit_chunks(self, source: Any) -> Self:
        """Learn the graph of a table that need not fit into memory, by what passes over its rows can tell.

        All rows are read once, for ``edges="gam"`` three times (moments and a sketch of quantiles, exact
        quantiles, second moments of the splines), for ``scales="log"`` once more. Memory holds a few chunks.

        Edges may be "bic", "lars", "lasso", "linear" or "gam", the loss any but "entropy", the scales "none" or
        "log". What looks at rows one by one is not there: noise is Gaussian, of one spread, effects are lines or
        splines without products, and "auto" means "bic" as loss and "none" as scales.
        Ties of rounded columns are not spread on the scale of logarithms. Rows with missing values are left out
        with ``missing="drop"`` and refused otherwise: learn from them in memory, with :meth:`fit`.

        Parameters
        ----------
        source : path, list, iterator, callable, pyarrow Dataset or dask DataFrame
            A Parquet, CSV or TSV file, a folder of them, or a list of paths; chunks of rows, as arrays or
            DataFrames with the same columns, in a list or an iterator; a function that returns a new iterator, for
            what is read more than once; or a dask DataFrame, whose partitions its cluster takes in.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> def read():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(10):
        ...         cause = rng.normal(size=100)
        ...         yield np.column_stack([cause**2 + 0.1 * rng.normal(size=100), cause])
        >>> Daguerreotype().fit_chunks(read).adjacency_matrix_
        array([[0, 0],
               [1, 0]])
        """
        settings = self._settings()
        with running(settings) as (run, bar):
            with run.cancel.at_once():
                rows = read_source(source)
                quantiles = check_streamable(settings, rows)
                count = bar.task("rows read", None)
                read = table_of_chunks(rows, quantiles=quantiles, on_rows=count, missing=self.missing)
            return self._learn_streamed(read, settings, run)

    def fit_moments(
        self, covariance: Any, n_rows: int | None = None, *, names: Any = None, means: Any = None
    ) -> Self:
        """Learn the graph behind a covariance matrix, without any row.

        Edges may be "bic", "lars", "lasso" or "linear", the loss any but "entropy" ("auto" means "bic"): effects
        are lines, noise is Gaussian, and columns stay on their scale. Two columns alone, whose directions moments
        cannot tell apart, are taken as they are numbered.

        Parameters
        ----------
        covariance : array or DataFrame of shape (d, d), or Moments
            Covariances, however divided: by n or by n - 1 changes nothing if columns are standardized. Moments
            need no other argument.
        n_rows : int
            How many rows they are from; BIC asks for more evidence when there are few.
        names : sequence of str, optional
            Column names; by default those of a DataFrame.
        means : array of shape (d,), optional
            Means; :meth:`score` needs them.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> covariance = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]]
        >>> m = Daguerreotype(edges="bic").fit_moments(covariance, 1000, names=["rain", "tap", "wet"])
        >>> list(m.causal_graph_.edges)
        [('rain', 'wet'), ('tap', 'wet')]
        """
        settings = self._settings()
        check_streamable(settings, None)
        table = table_of_moments(covariance, n_rows, names, means)
        kinds = (Kind("continuous", "rows are not in memory"),) * table.n_columns
        with running(settings) as (run, _):
            return self._learn_streamed(ReadTable(table, kinds), settings, run)

    def with_kinds_of(self, X: Any, *, interventions: Any = None) -> Self:
        """A copy that takes columns for what they are in ``X``, to be fitted to some of its rows.

        Some rows may lack a level that others have, or look rounded by chance. :meth:`bootstrap` and tuning do
        this by themselves; do it before a cross-validation.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The whole table, as for :meth:`fit`.
        interventions : optional
            As for :meth:`fit`.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from daguerreotype import Daguerreotype
        >>> X = pd.DataFrame({"dose": np.linspace(0, 1, 40), "city": ["Bonn", "Rome", "Oslo", "Bonn"] * 10})
        >>> Daguerreotype().with_kinds_of(X).kinds["city"].levels
        ('Bonn', 'Oslo', 'Rome')
        """
        copied: Self = clone(self)
        alone = numbers_alone(copied._settings())
        read = table_of_rows(copied, X, interventions, self.kinds, numbers_alone=alone, missing=self.missing)
        copied.set_params(kinds=dict(zip(read.table.labels, read.kinds, strict=True)))
        return copied

    def _settings(self) -> dict[str, Any]:
        """The learner's own parameters, checked; a subclass may set them without taking them as arguments."""
        settings = {name: getattr(self, name) for name in Daguerreotype._get_param_names()}
        check_saved(settings)
        check_settings(settings)
        return settings

    def _learn_streamed(self, read: ReadTable, settings: Mapping[str, Any], run: Run) -> Self:
        """Take the columns of a table that was not checked by scikit-learn for those of training, and learn."""
        table = read.table
        self.n_features_in_ = table.n_columns
        if table.named and all(isinstance(name, str) for name in table.names):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        read_given(self.kinds, table.names, numbered=not table.named)
        if self.scales == "auto":
            logger.info("scales='auto' needs all rows at once: columns stay on their scale.")
        return self._learn(read, settings, run)

    def _learn(self, read: ReadTable, settings: Mapping[str, Any], run: Run) -> Self:
        """Plan, learn, and keep what was found."""
        with run.cancel.at_once():
            plan = make_plan(settings, read.table)
        result = fit_table(read.table, plan, run)
        self._keep(replace(result, kinds=read.kinds, gaps=read.gaps, n_dropped=read.n_dropped))
        self._table = read.table
        return self

    def _keep(self, result: "FitResult") -> None:
        """Fitted attributes, from the result of a fit."""
        self._result = result
        self.adjacency_matrix_ = result.named_matrix(result.adjacency)
        self.weights_ = result.named_matrix(result.weights)
        self.edges_ = result.edge_table()
        self.weak_edges_ = result.weak_edge_table()
        self.columns_ = result.column_table()
        self.posterior_ = result.posterior
        self.edge_probabilities_ = None if result.posterior is None else result.posterior.edge_probabilities
        self.causal_order_ = [result.labels[j] for j in result.order] if result.named else result.order
        self.theta_ = result.theta
        self.order_distribution_ = result.distribution
        self.history_ = result.history
        self.loss_ = result.training.loss
        self.missing_ = result.missing
        self.interrupted_ = result.training.interrupted

    @property
    def causal_graph_(self) -> nx.DiGraph:
        """The graph with column names (or numbers) as nodes.

        Edges have ``weight``, ``norm``, ``probability`` and ``reverse_probability``, that of the same edge turned
        around; the last two only where there is a posterior.
        """
        check_is_fitted(self)
        measures = ["weight", "norm"]
        if self.posterior_ is not None:
            measures += ["probability", "reverse_probability"]
        graph = nx.DiGraph()
        graph.add_nodes_from(self._result.labels)
        for edge in self.edges_.to_dict("records"):
            graph.add_edge(edge["cause"], edge["effect"], **{name: edge[name] for name in measures})
        return graph

    def equivalence_class(self) -> EquivalenceClass:
        """Which arrows of the graph are compelled, and which could be turned around?

        This is the Markov equivalence class of ``adjacency_matrix_``: all DAGs with the same independences. Lines
        with Gaussian noise cannot tell its members apart, whatever the number of rows. Curves, other noise,
        interventions and knowledge can tell more; the class ignores them, ``posterior_`` counts them.
        :func:`~daguerreotype.graphs.to_cpdag` gives the class as a matrix.

        Returns
        -------
        EquivalenceClass
            ``compelled``, the edges that all members have this way around, and ``reversible``, the others: lists
            of (cause, effect), by name or number.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.normal(size=(2, 500))
        >>> X = np.column_stack([a, b, a + b + rng.normal(size=500)])
        >>> Daguerreotype(edges="bic", scales="none").fit(X).equivalence_class()
        EquivalenceClass(compelled=[(0, 2), (1, 2)], reversible=[])
        """
        check_is_fitted(self)
        return equivalence_class(self)

    def curve(self, cause: Any, effect: Any, values: Any) -> "FloatArray":
        """What ``cause`` contributes to ``effect`` at the given values of it.

        For ``edges="gam"``, and for "bic" on tables with discrete columns.

        Parameters
        ----------
        cause, effect : str or int
            Columns, by name or by number; cause must be a parent of effect.
        values : array of shape (m,)
            Values of the cause, in the units of the table that was fitted; levels where it has them.

        Returns
        -------
        array of shape (m,) or (m, q)
            The fitted component, with mean zero over the training rows, by the noise of the effect:

            - a continuous effect: on its scale, see ``columns_``, in standard deviations of the effect if columns
              were standardized;
            - "bernoulli": log-odds of the second level;
            - "ordinal": log-odds of a higher level, whichever levels are compared;
            - "poisson" and "negative-binomial": the logarithm of the mean; of "gaussian" counts the mean;
            - "categorical" with more than two levels: (m, q), log-odds of each level beyond the first against the
              first. Rare levels of the effect share a column, the last one.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> cause = np.linspace(-1, 1, 200)
        >>> effect = cause**2 + np.tile([-0.01, 0.01], 100)
        >>> m = Daguerreotype(scales="none").fit(np.column_stack([cause, effect]))
        >>> m.curve(0, 1, [-1.0, 0.0, 1.0]).round(1)
        array([ 2.2, -1.1,  2.2])

        A cause with levels has a contribution for each:

        >>> import pandas as pd
        >>> from daguerreotype.operators import FixedOrder
        >>> X = pd.DataFrame({"city": np.repeat(["Bonn", "Oslo", "Rome"], 50)})
        >>> X["height"] = np.repeat([1.0, 3.0, 2.5], 50) + np.tile(np.linspace(-0.1, 0.1, 50), 3)
        >>> m = Daguerreotype(operator=FixedOrder(["city", "height"]), standardize=False, scales="none").fit(X)
        >>> m.curve("city", "height", ["Bonn", "Oslo", "Rome"]).round(1)
        array([-1.2,  0.8,  0.3])
        """
        check_is_fitted(self)
        return self._result.curve(cause, effect, values)

    def score(self, X: Any, y: None = None, *, interventions: Any = None) -> float:
        r"""Mean log-likelihood per row of ``X`` under the learned graph; rows need not have been seen.

        Residuals are judged by the noise that was learned: Gaussian, or of free shape, see
        ``columns_``. The change of scale is accounted for, so that scores of different scales compare. A column
        that was intervened on in a row, as ``interventions`` say like those of :meth:`fit`, has no likelihood
        there. What is missing of a row is integrated out, by draws with a seed of their own.
        """
        check_is_fitted(self)
        return self._result.score(*rows_of(self, X, self._result.kinds_by_label, interventions))

    def impute(
        self, X: Any, n_draws: int = 20, *, interventions: Any = None, random_state: int = 0
    ) -> "Imputation":
        """Complete rows with missing values by what was learned, and say how sure that is.

        Parameters
        ----------
        X : DataFrame or array of shape (m, d)
            Rows with gaps; they need not have been seen.
        n_draws : int
            Draws of what is missing given what is not, by the learned graph. The values are their means, their
            medians where columns hold whole numbers, and the most frequent levels.
        interventions : optional
            As for :meth:`fit`: what columns were set to does not depend on their causes.
        random_state : int
            The same seed gives the same draws.

        Returns
        -------
        Imputation
            ``table``, the completed rows, of the type of X; ``spread``, the standard deviation of the draws, for
            levels the share of draws that have another; and all ``draws``.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> cause = rng.normal(size=500)
        >>> X = np.column_stack([cause, 2.0 * cause + 0.1 * rng.normal(size=500)])
        >>> m = Daguerreotype().fit(X)
        >>> m.impute([[1.0, np.nan], [np.nan, -2.0]]).table.round(1)
        array([[ 1.,  2.],
               [-1., -2.]])
        """
        check_is_fitted(self)
        values, intervened = rows_of(self, X, self._result.kinds_by_label, interventions)
        return self._result.impute(X, values, n_draws, random_state, intervened)

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
        texts = hasattr(self, "feature_names_in_")
        save_learner(path, self.get_params(deep=False), texts, self._result)

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
        settings, texts, result = load_learner(path)
        unknown = set(settings) - set(cls._get_param_names())
        if unknown:
            raise ValueError(
                f"{path} has settings that this version does not know: {', '.join(sorted(unknown))}. Update it: "
                "pip install --upgrade daguerreotype."
            )
        learner = cls(**settings)
        learner.n_features_in_ = len(result.names)
        if texts:
            learner.feature_names_in_ = np.array(result.names, dtype=object)
        learner._keep(result)
        return learner

    def sample_posterior(
        self,
        n_sweeps: int | None = None,
        *,
        n_chains: int = 4,
        bagged: int = 0,
        random_state: int = 0,
        n_jobs: int | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> "Posterior":
        """How probable is each edge, each direction, each graph? A sample of graphs as likely as the table says.

        A longer run of what :meth:`fit` ends with. Orders are drawn around the one that was found, the parent sets
        that they choose are listed with those that are nearly as good, and several Markov chains go over the
        graphs that can be made of them, each graph in proportion to exp(-n * loss), n being rows of evidence, see
        ``trust``. Knowledge is obeyed. Ctrl-C ends it with what there is.

        Parameters
        ----------
        n_sweeps : int, optional
            Turns of every column in each chain; by default 16,000 of all together, or 100 of each in a resample.
        n_chains : int
            Chains, from different graphs; :attr:`Posterior.agreement` tells whether they came to the same.
        bagged : int
            If above 0, the average of the posteriors of so many bootstrap resamples, each learned anew (Huggins
            and Miller 2019): for tables that no model fits well, where that of the table itself is too sure.
        random_state : int
            The same seed gives the same result, whatever ``n_jobs``.
        n_jobs : int or None
            Threads for chains, processes for resamples; -1 for one per core.
        resume : path, optional
            File that the state is saved to now and then, and gone on from if it is there.

        Returns
        -------
        Posterior

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> first = rng.normal(size=300)
        >>> X = np.column_stack([first, first + rng.normal(size=300)])  # either may be the cause
        >>> sure = Daguerreotype(scales="none").fit(X).sample_posterior(n_sweeps=2000)
        >>> [round(p, 1) for p in sure.pair(0, 1)]
        [0.5, 0.5, 0.0]
        """
        check_is_fitted(self)
        return sample_posterior(self, n_sweeps, n_chains, bagged, random_state, n_jobs, resume)

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
        that explain the rows equally well) are broken anew in every resample. But a direction that no data can
        tell may come out the same in most of them, even in all: :meth:`sample_posterior` gives each a half.
        With ``verbose`` one bar shows how many resamples are done.

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
            File that the finished resamples are saved to about every 30 seconds. If it exists, its resamples are
            not done again: a run that was killed or interrupted ends as if it had not been. A file of another
            table, learner or seed is refused.
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
        Every resample takes the columns for what they are in the whole table: a level may be missing from it.
        Rows that cannot be fitted, because a rare value is not among them and a column is constant, are drawn
        again, up to 10 times in one resample; then it is left out and listed in ``failures``.

        Examples
        --------
        >>> import numpy as np
        >>> from daguerreotype import Daguerreotype
        >>> rng = np.random.default_rng(0)
        >>> cause = rng.normal(size=200)
        >>> X = np.column_stack([cause**2 + 0.1 * rng.normal(size=200), cause])
        >>> sure = Daguerreotype(scales="none").bootstrap(X, n_resamples=5)
        >>> sure.edge_frequencies
        array([[0., 0.],
               [1., 0.]])
        """
        # The table itself must be fit for learning, whatever its resamples are.
        return bootstrap(
            self.with_kinds_of(X, interventions=(fit_params or {}).get("interventions")),
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
        kind: Literal["graph", "training", "order", "curves"] = "graph",
        *,
        truth: Any = None,
        X: Any = None,
        effect: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw the fit with matplotlib.

        Parameters
        ----------
        kind : {"graph", "training", "order", "curves"}
            "graph": causes on the left, width by norm, colour by sign, opacity by probability; an edge whose
            direction is open has no head; effects of and on levels in no order have no sign. "training": the loss,
            step by step. "order": how probably each column precedes each other, by ``posterior_`` or, without one,
            the share of ``order_distribution_``. "curves": the effect of every cause, for ``edges="gam"`` and for
            tables with levels or counts: lines over numbers, points over counts, bars over levels.
        truth : array, DataFrame or networkx.DiGraph, optional
            A known graph; "graph" then tells correct, missing, wrong and reversed edges apart.
        X : DataFrame or array of shape (n, d), optional
            For "curves", which run over the values in it; without it, over those of the training rows.
        effect : str or int, optional
            For "curves": only those of this column's causes.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None, and always for "curves".

        Returns
        -------
        Axes, or an array of Axes for "curves"
        """
        from daguerreotype.plotting.fit import plot_fit

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
