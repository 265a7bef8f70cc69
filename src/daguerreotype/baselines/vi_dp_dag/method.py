"""VI-DP-DAG: variational inference over an order and edges along it, with masked networks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from daguerreotype._lib.checks import check_positive, check_positive_int
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray
from daguerreotype.baselines.base import Baseline, Learned

if TYPE_CHECKING:
    from daguerreotype.baselines.vi_dp_dag.dag import OrderLaw


@dataclass(kw_only=True, eq=False, repr=False)
class VIDPDAG(Baseline):
    r"""Variational inference over DAGs sampled as an order and edges along it; networks explain the data.

    Minimises, with one sampled DAG A = E * (P' T P) per step,

    .. math:: E_q[\| X - f_A(X) \|^2 / (n d)] + \lambda \, KL(q(E) \| prior) / (d (d - 1)),

    with P a random order, T ones above the diagonal, E Bernoulli edges by Gumbel-softmax, hard in the forward pass
    and soft in the gradient, and f_A one masked network per node (Charpentier, Kibler and Günnemann, ICLR 2022).
    The mode is reported: the likeliest order, and along it the edges of probability above one half, from the
    moment of smallest validation loss. It has no weights.

    The defaults are the settings that come with the authors' code (sharpenb/Differentiable-DAG-Sampling on GitHub)
    except for the regularizer. There the logits stand where log q belongs in  prior * (log prior - log q),  the
    only half of the divergence that is left: a term that falls with every logit and so *favours* edges. Graphs
    come out almost complete, as in the published tables; ``regularizer="released"`` does the same.

    Parameters
    ----------
    regularization : float
        Weight lambda of the regularizer. Larger is sparser.
    prior : float
        Prior probability of an edge.
    regularizer : {"kl", "released"}
        "kl" as in the paper; "released" to repeat results made with the authors' code.
    hidden : tuple of int
        Units of each hidden layer of the networks.
    max_epochs, patience, frequency : int
        Passes over the rows at most; the validation loss is looked at every ``frequency`` passes, and training
        stops when ``patience`` looks have brought nothing better.
    batch_size : int
        Rows per step.
    learning_rate, dag_learning_rate : float
        Of Adam, for the networks and for the distribution over DAGs.
    temperature : float
        Of the soft permutation whose gradient is used; lower is less biased and noisier.
    validation_fraction : float
        Share of the rows that is held out.
    standardize : bool
        Scale columns to variance one.
    random_state : int or None
        Seed.
    time_limit : float or None
        Seconds after which to give up.
    """

    libraries: ClassVar[tuple[str, ...]] = ("torch", "daguerreotype.baselines.vi_dp_dag.training")

    regularization: float = 0.01
    prior: float = 0.01
    regularizer: str = "kl"
    hidden: tuple[int, ...] = (16, 16, 16)
    max_epochs: int = 100
    patience: int = 10
    frequency: int = 2
    batch_size: int = 64
    learning_rate: float = 1e-3
    dag_learning_rate: float = 1e-2
    temperature: float = 1.0
    validation_fraction: float = 0.1

    def order_law(self, d: int) -> "OrderLaw":
        """The distribution over orders of d nodes before training."""
        raise NotImplementedError("VIDPDAG has no law of orders: use VIDPDAGSoftSort or VIDPDAGSinkhorn.")

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Train on most rows, stop by the others, report the mode."""
        self._check_settings()
        from daguerreotype.baselines.vi_dp_dag.training import train

        trained = train(self, self.order_law(X.shape[1]), X, rng)
        return Learned(trained.dag, order=trained.order)

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        if self.regularizer not in ("kl", "released"):
            raise ValueError(f"regularizer must be 'kl' or 'released', got {shown(self.regularizer)}.")
        for name in ("max_epochs", "patience", "frequency", "batch_size"):
            check_positive_int(getattr(self, name), name)
        for units in self.hidden:
            check_positive_int(units, "hidden")
        for name in ("learning_rate", "dag_learning_rate", "temperature"):
            check_positive(getattr(self, name), name)
        check_positive(self.regularization, "regularization", zero=True)
        for name in ("prior", "validation_fraction"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, got {getattr(self, name)!r}.")


class VIDPDAGSoftSort(VIDPDAG):
    """VI-DP-DAG with orders by Gumbel top-k and SoftSort: d scores. See `VIDPDAG` for the settings.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3)).cumsum(axis=1)
    >>> VIDPDAGSoftSort(max_epochs=5).fit(X).adjacency_matrix_.shape
    (3, 3)
    """

    def order_law(self, d: int) -> "OrderLaw":
        """Gumbel top-k."""
        from daguerreotype.baselines.vi_dp_dag.dag import SoftSortLaw

        return SoftSortLaw(d, self.temperature)


class VIDPDAGSinkhorn(VIDPDAG):
    """VI-DP-DAG with orders by Gumbel-Sinkhorn: d x d scores. See `VIDPDAG` for the settings.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3)).cumsum(axis=1)
    >>> VIDPDAGSinkhorn(max_epochs=5).fit(X).adjacency_matrix_.shape
    (3, 3)
    """

    def order_law(self, d: int) -> "OrderLaw":
        """Gumbel-Sinkhorn."""
        from daguerreotype.baselines.vi_dp_dag.dag import SinkhornLaw

        return SinkhornLaw(d, self.temperature)
