"""Training of VI-DP-DAG: one sampled DAG per batch, early stopping on held-out rows."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.vi_dp_dag.dag import (
    MaskedAutoencoder,
    OrderLaw,
    edge_divergence,
    edge_reward,
    mode_dag,
    sample_dag,
)

if TYPE_CHECKING:
    from daguerreotype.baselines.vi_dp_dag.method import VIDPDAG

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


def train(settings: "VIDPDAG", law: OrderLaw, X: FloatArray, rng: np.random.Generator) -> Trained:
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
