"""BCD-Nets: variational posterior over orders, weights and noise of a linear Gaussian model."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daguerreotype._lib.checks import check_positive, check_positive_int
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned


@dataclass(kw_only=True, eq=False, repr=False)
class BCDNets(Baseline):
    r"""Variational Bayes over the order, the weights and the noise of a linear Gaussian model.

    Maximises the evidence lower bound

    .. math:: E_q[\log p(X | P, U, s) + \log p(P, U, s) - \log q(P, U, s)],  W = P^T U P,

    with U strictly upper triangular and P a permutation: every sample is a DAG (Cundy, Grover and Ermon,
    NeurIPS 2021). q(U, s) is a diagonal normal; given a sample of it, a network writes the logits of q(P | U, s),
    drawn by Gumbel-Sinkhorn with Hungarian rounding and straight-through gradients. The prior on U is a horseshoe
    of scale p0 / ((d - 1 - p0) sqrt(n)), p0 = 2 * degree (Piironen and Vehtari 2017). The mode is reported: the
    mean of U and s, the likeliest order given them, and the edges of weight beyond ``threshold``.

    The defaults are those of the authors' code (github.com/ermongroup/BCD-Nets), as are two hidden layers of GELU
    units, AdaBelief, log noise scales N(0, 3^2) and the normal, not the flow, for q(U, s). Unlike it, the density
    of the horseshoe is exact, the prior on log noise has its right sign, and only second moments of X are used, so
    that rows cost nothing.

    Parameters
    ----------
    equal_variance : bool
        One noise variance for all columns. True only for raw columns in the same unit.
    degree : float
        Expected number of parents of a node; sets how strongly weights are shrunk.
    threshold : float
        Edges of smaller absolute weight are left out.
    n_steps : int
        Gradient steps. A tenth shows the strongest edges of ten columns; orders settle later.
    batch_size : int
        Samples of the posterior per step.
    learning_rate : float
        Of AdaBelief, for all parameters.
    temperature : float
        Of Gumbel-Sinkhorn; lower is closer to a permutation, with noisier gradients.
    tolerance : float
        How far from doubly stochastic Sinkhorn may stop.
    logit_bound : float
        Logits of the order stay within this, which keeps some doubt alive.
    hidden : int
        Units per hidden layer of the network.
    standardize : bool
        Scale columns to variance one. Set to False with ``equal_variance=True``.
    random_state : int or None
        Seed.
    time_limit : float or None
        Seconds after which to give up.

    Examples
    --------
    >>> from daguerreotype.simulate import simulate_dag, simulate_data
    >>> X = simulate_data(simulate_dag(4, 3, random_state=0), 500, random_state=0).X
    >>> model = BCDNets(equal_variance=True, standardize=False, n_steps=200).fit(X)
    >>> model.weights_.shape
    (4, 4)
    """

    libraries: ClassVar[tuple[str, ...]] = ("torch", "daguerreotype.baselines.bcd_nets.posterior")

    equal_variance: bool = False
    degree: float = 1.0
    threshold: float = 0.3
    n_steps: int = 20_000
    batch_size: int = 64
    learning_rate: float = 1e-3
    temperature: float = 0.2
    tolerance: float = 1e-2
    logit_bound: float = 10.0
    hidden: int = 128

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Maximise the ELBO and report the mode."""
        for name in ("n_steps", "batch_size", "hidden"):
            check_positive_int(getattr(self, name), name)
        for name in ("degree", "learning_rate", "temperature", "tolerance", "logit_bound"):
            check_positive(getattr(self, name), name)
        check_positive(self.threshold, "threshold", zero=True)
        weights, order, bounds = self.maximise(X.T @ X / len(X), len(X), rng)
        if not np.isfinite(bounds).all():
            step = int(np.argmin(np.isfinite(bounds)))
            raise ValueError(
                f"the ELBO became {bounds[step]} in step {step}: columns of this scale (largest value "
                f"{np.abs(X).max():.3g}) do not fit its single precision. Set standardize=True, or divide "
                "all columns by the same number."
            )
        weights[np.abs(weights) <= self.threshold] = 0.0
        return Learned((weights != 0).astype(np.int64), weights, order)

    def maximise(
        self, moments: FloatArray, n_rows: int, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Weights (d, d) and order (d,) of the mode, and the ELBO (n_steps,) on the way."""
        from daguerreotype._lib.optional import torch
        from daguerreotype.baselines.bcd_nets.adabelief import AdaBelief
        from daguerreotype.baselines.bcd_nets.posterior import Posterior, elbo, weight_matrices

        generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
        posterior = Posterior(len(moments), self, generator)
        scale = horseshoe_scale(len(moments), n_rows, self.degree)
        second = torch.from_numpy(moments).float()
        optimizer = AdaBelief(posterior.flat, self.learning_rate)
        values = []
        for _ in range(self.n_steps):
            bound = elbo(posterior.sample(self.batch_size), second, n_rows, scale)
            # The released code divides the ELBO's gradient by the temperature before the weight decay joins it.
            gradient = torch.autograd.grad(-bound / self.temperature, posterior.flat)[0]
            optimizer.step(posterior.decay(gradient))
            values.append(bound.detach())
        mode = posterior.mode()
        weights: FloatArray = weight_matrices(mode)[0].double().numpy()
        order: IntArray = mode.permutations[0].argmax(dim=1).numpy()
        return weights, order, torch.stack(values).double().numpy()


def horseshoe_scale(d: int, n_rows: int, degree: float) -> float:
    """Scale of the prior at which about 2 * degree of d - 1 weights are large; 1 / (2 d) for tiny graphs."""
    left = d - 1 - 2 * degree
    return 2 * degree / (left * math.sqrt(n_rows)) if left > 0 else 1 / (2 * d)
