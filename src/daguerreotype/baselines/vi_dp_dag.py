"""VI-DP-DAG: variational inference over an order and edges along it, with masked networks."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from daguerreotype._lib.checks import check_positive, check_positive_int, one_of
from daguerreotype._lib.imports import torch
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.permutations import gumbel_noise, sinkhorn, soft_sort, straight_through

Tensor = torch.Tensor


class SoftSortLaw:
    r"""Gumbel top-k: nodes in descending order of  log softmax(scores) + Gumbel noise  (Plackett-Luce).

    The gradient is that of SoftSort.
    """

    def __init__(self, d: int, temperature: float) -> None:
        self.scores = torch.zeros(d, requires_grad=True)
        self.temperature = temperature

    def sample(self, generator: torch.Generator) -> Tensor:
        """Straight through the soft sort of noisy scores."""
        noisy = torch.log_softmax(self.scores, dim=0) + gumbel_noise((len(self.scores),), generator)
        return straight_through(*soft_sort(noisy, self.temperature))

    def mode(self) -> Tensor:
        """Scores in descending order."""
        return torch.sort(self.scores.detach(), descending=True, stable=True).indices


class SinkhornLaw:
    """Gumbel-Sinkhorn: the best matching of nodes and positions under  log sigmoid(scores) + Gumbel noise."""

    def __init__(self, d: int, temperature: float) -> None:
        self.scores = torch.zeros(d, d, requires_grad=True)
        self.temperature = temperature

    def sample(self, generator: torch.Generator) -> Tensor:
        """Straight through the balanced matrix."""
        noisy = torch.nn.functional.logsigmoid(self.scores) + gumbel_noise(tuple(self.scores.shape), generator)
        soft, columns = sinkhorn(noisy[None] / self.temperature)
        return straight_through(soft, columns)[0]

    def mode(self) -> Tensor:
        """The best matching without noise."""
        return sinkhorn(torch.nn.functional.logsigmoid(self.scores.detach())[None])[1][0]


def sample_dag(permutation: Tensor, edge_logits: Tensor, generator: torch.Generator) -> Tensor:
    r"""A = E * (P' T P)  with edges E[i, j] ~ Bernoulli(sigmoid(edge_logits[i, j])) and T ones above the diagonal.

    Binary; the gradient in the logits is that of the Gumbel-softmax at temperature 1 (binary concrete).
    """
    noise = gumbel_noise((2, *edge_logits.shape), generator)
    soft = torch.sigmoid(edge_logits + noise[0] - noise[1])
    edges = (soft > 0.5).to(soft.dtype) + (soft - soft.detach())
    earlier = torch.ones_like(permutation).triu(1)
    return edges * (permutation.mT @ earlier @ permutation)


def mode_dag(order: Tensor, edge_logits: Tensor) -> Tensor:
    """Edges (d, d) likelier than not, among those that the order allows."""
    ranks = torch.argsort(order)
    return ((edge_logits.detach() > 0) & (ranks[:, None] < ranks[None, :])).to(edge_logits.dtype)


def edge_divergence(edge_logits: Tensor, prior: float) -> Tensor:
    r"""Mean over pairs i != j of  KL(Bernoulli(q_ij) || Bernoulli(prior)),  q = sigmoid(edge_logits)."""
    q = torch.sigmoid(edge_logits)
    log_on, log_off = (torch.nn.functional.logsigmoid(sign * edge_logits) for sign in (1, -1))
    return _pair_mean(q * (log_on - math.log(prior)) + (1 - q) * (log_off - math.log1p(-prior)))


def edge_reward(edge_logits: Tensor, prior: float) -> Tensor:
    """Mean over pairs i != j of  prior * (log(prior) - edge_logits[i, j]):  the larger the logit, the smaller."""
    return prior * (math.log(prior) - _pair_mean(edge_logits))


def _pair_mean(cells: Tensor) -> Tensor:
    """Mean off the diagonal."""
    d = len(cells)
    return (cells.sum() - cells.diagonal().sum()) / (d * (d - 1))


class MaskedAutoencoder:
    r"""One network per node,  x_j ~ f_j(x * A[:, j]),  with ReLU layers; all nodes at once.

    Parameters
    ----------
    d : int
        Number of nodes.
    hidden : tuple of int
        Units of each hidden layer.
    generator : torch.Generator
        Start: uniform within 1 / sqrt(inputs) of each layer.
    """

    def __init__(self, d: int, hidden: tuple[int, ...], generator: torch.Generator) -> None:
        sizes = [d, *hidden, 1]
        self.weights, self.biases = [], []
        for inputs, outputs in pairwise(sizes):
            bound = inputs**-0.5
            weight = torch.empty(d, inputs, outputs).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(d, 1, outputs).uniform_(-bound, bound, generator=generator)
            self.weights.append(weight.requires_grad_())
            self.biases.append(bias.requires_grad_())

    def parameters(self) -> list[Tensor]:
        """Tensors to train."""
        return [*self.weights, *self.biases]

    def predict(self, rows: Tensor, dag: Tensor) -> Tensor:
        """Fitted values (m, d) of rows (m, d): the mask closes inputs of the first layer."""
        first = self.weights[0] * dag.mT[:, :, None]  # (node, input, units)
        units = torch.baddbmm(self.biases[0], rows.expand(len(dag), -1, -1), first)  # (node, m, units)
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            units = torch.baddbmm(bias, torch.relu(units), weight)
        return units[:, :, 0].mT


REGULARIZERS = {"kl": edge_divergence, "released": edge_reward}


class Trained(NamedTuple):
    """What training leaves.

    Attributes
    ----------
    order : array of shape (d,)
        Likeliest order at the look of smallest validation loss.
    dag : array of shape (d, d)
        Edges likelier than not along that order.
    losses : array of shape (looks,)
        Validation loss of the mode at every look.
    """

    order: IntArray
    dag: IntArray
    losses: FloatArray


def train(settings: "VIDPDAG", law: SoftSortLaw | SinkhornLaw, X: FloatArray, rng: np.random.Generator) -> Trained:
    """Descend on the order law, the edges and the networks together; one sampled DAG per batch of rows."""
    n, d = X.shape
    rows = torch.from_numpy(X[rng.permutation(n)]).float()
    held_out, rows = rows.tensor_split([max(1, round(settings.validation_fraction * n))])
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    networks = MaskedAutoencoder(d, settings.hidden, generator)
    edge_logits = torch.rand(d, d, generator=generator).requires_grad_()
    groups = [
        {"params": networks.parameters(), "lr": settings.learning_rate},
        {"params": [law.scores, edge_logits], "lr": settings.dag_learning_rate},
    ]
    optimizer = torch.optim.Adam(groups, fused=True)
    regularizer = REGULARIZERS[settings.regularizer]

    def loss(batch: torch.Tensor, dag: torch.Tensor) -> torch.Tensor:
        error = (networks.predict(batch, dag) - batch).square().mean()
        return error + settings.regularization * regularizer(edge_logits, settings.prior)

    losses: list[float] = []
    best, order, dag = -1, torch.arange(d), torch.zeros(d, d)
    for epoch in range(settings.max_epochs):
        shuffled = rows[torch.randperm(len(rows), generator=generator)]
        for batch in shuffled.split(settings.batch_size):  # type: ignore[no-untyped-call]
            value = loss(batch, sample_dag(law.sample(generator), edge_logits, generator))
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        if epoch % settings.frequency == 0:
            now = law.mode()
            now_dag = mode_dag(now, edge_logits)
            with torch.no_grad():
                losses.append(loss(held_out, now_dag).item())
            if not np.isfinite(losses[-1]):
                raise ValueError(
                    f"the validation loss became {losses[-1]} in pass {epoch}: networks cannot work on columns of "
                    f"this scale (largest value {np.abs(X).max():.3g}). Set standardize=True."
                )
            if best < 0 or losses[-1] < losses[best]:
                best, order, dag = len(losses) - 1, now, now_dag
            elif len(losses) - 1 - best >= settings.patience:
                break
    return Trained(order.numpy(), dag.numpy().astype(np.int64), np.array(losses))


def _check_between(value: Any, name: str) -> None:
    """Refuse what is no share above 0 and below 1."""
    if not 0 < check_positive(value, name, zero=True) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {shown(value)}.")


def _check_units(value: Any, name: str) -> None:
    """Refuse layers without units."""
    for units in value:
        check_positive_int(units, name)


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

    libraries = ("torch",)
    checks = {
        **dict.fromkeys(("learning_rate", "dag_learning_rate", "temperature"), check_positive),
        **dict.fromkeys(("prior", "validation_fraction"), _check_between),
        "regularizer": one_of(*REGULARIZERS),
        "hidden": _check_units,
    }

    law: ClassVar[type[SoftSortLaw] | type[SinkhornLaw]]  # of orders; told by the two methods below
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

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Train on most rows, stop by the others, report the mode."""
        trained = train(self, self.law(X.shape[1], self.temperature), X, rng)
        return Learned(trained.dag, order=trained.order)


class VIDPDAGSoftSort(VIDPDAG):
    """VI-DP-DAG with orders by Gumbel top-k and SoftSort: d scores. See `VIDPDAG` for the settings.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3)).cumsum(axis=1)
    >>> VIDPDAGSoftSort(max_epochs=5).fit(X).adjacency_matrix_.shape
    (3, 3)
    """

    law = SoftSortLaw


class VIDPDAGSinkhorn(VIDPDAG):
    """VI-DP-DAG with orders by Gumbel-Sinkhorn: d x d scores. See `VIDPDAG` for the settings.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3)).cumsum(axis=1)
    >>> VIDPDAGSinkhorn(max_epochs=5).fit(X).adjacency_matrix_.shape
    (3, 3)
    """

    law = SinkhornLaw
