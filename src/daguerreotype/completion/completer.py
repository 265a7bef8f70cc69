"""Completed tables of one table with gaps: where draws start, and how a fitted graph draws them anew."""

from collections.abc import Sequence

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray
from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.completion.sampler import GapSampler
from daguerreotype.completion.start import first_draws
from daguerreotype.data.gaussian_em import GappyRows, NormalFit
from daguerreotype.data.table import OnScale, Summary, Table
from daguerreotype.noise import Density, Mass
from daguerreotype.training.train import TrainingResult

# Completed tables that are drawn together, and those that are learned from together; likelihoods of levels and
# counts take each row in every step, so that fewer must do.
AT_ONCE, KEPT = 2, 4
AT_ONCE_DISCRETE, KEPT_DISCRETE = 1, 3
FIRST_SWEEPS = 4  # from values that causes alone drew
SEED = 577_215  # of no stream that a simulated column is likely to come from


class Completer:
    """A table with gaps, its rows and columns in canonical order, and the latest draws of what it lacks.

    Parameters
    ----------
    table : Table
        With gaps.
    several : bool
        Whether several completed tables can be learned from together.
    most_rows : int
        That they may have in all.
    """

    def __init__(self, table: Table, several: bool, most_rows: int) -> None:
        assert table.gaps is not None
        self.table, self._gaps = table, table.gaps
        at_once, kept = (AT_ONCE_DISCRETE, KEPT_DISCRETE) if table.discrete.any() else (AT_ONCE, KEPT)
        self._kept = int(np.clip(most_rows // table.n_rows, 1, kept)) if several else 1
        self._at_once = min(at_once, self._kept)
        self._rng = np.random.default_rng(SEED)
        self._some = np.flatnonzero(self._gaps.any(axis=1))
        self._draws: list[FloatArray] = []  # completed tables (m, n, d), the latest last

    @property
    def n_kept(self) -> int:
        """How many completed tables there are."""
        return sum(map(len, self._draws))

    @property
    def n_redraws(self) -> int:
        """How many rounds make all completed tables that are kept."""
        return max(self._kept // self._at_once, 1)

    def start(self) -> None:
        """Draw before any graph is known."""
        self._draws = [first_draws(self.table, self._at_once, self._rng)]

    def forget(self) -> None:
        """Forget all draws."""
        self._draws = []

    def start_normal(self, known: Summary) -> None:
        """Draw from the normal distribution that has known moments."""
        rows, normal = GappyRows(self.table.values), NormalFit(known.mean, known.covariance)
        self._draws = [rows.draw(normal.mean, normal.precision, self._rng)[None]]
        self._at_once = 1

    def latest(self) -> Table:
        """The table with its latest draws."""
        return self.table.completed(self._draws[-1])

    def all(self) -> Table:
        """The table with the draws of the last rounds."""
        return self.table.completed(np.concatenate(self._draws))

    def mechanisms(
        self, scaled: OnScale, training: TrainingResult, densities: Sequence[Density | Mass]
    ) -> Mechanisms:
        """What training found, as a distribution to draw from."""
        return Mechanisms(
            scaled, training.models, training.fits, densities, training.order, self.table.support, self.table.kinds
        )

    def redraw(self, mechanisms: Mechanisms, n_sweeps: int | None = None) -> None:
        """Draw all gaps anew from fitted mechanisms, and forget draws that are older than enough.

        One sweep goes on from the draws before; without any it takes some to forget where they began.
        """
        some = self._some
        gaps = np.tile(self._gaps[some], (self._at_once, 1))
        intervened = self.table.intervened
        if intervened is not None:
            intervened = np.tile(intervened[some], (self._at_once, 1))
        fresh = not self._draws
        before = np.tile(self.table.values, (self._at_once, 1, 1)) if fresh else self._draws[-1]
        sampler = GapSampler(mechanisms, before[:, some].reshape(gaps.shape), gaps, intervened)
        if fresh:
            sampler.fill_forwards(self._rng)
        for _ in range(n_sweeps or (FIRST_SWEEPS if fresh else 1)):
            sampler.sweep(self._rng)
        drawn = before.copy()
        drawn[:, some] = sampler.values.reshape(self._at_once, some.size, -1)
        self._take(drawn)

    def _take(self, drawn: FloatArray) -> None:
        self._draws = [*self._draws, drawn][-self.n_redraws :]

    # ------------------------------------------------------------------ what a checkpoint holds

    def state(self) -> tuple[Arrays, Header]:
        """The latest draws of what is missing, and where the stream of random numbers stands."""
        return {"draws": self._draws[-1][:, self._gaps]}, {"random": self._rng.bit_generator.state}

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Take draws that were made before for the latest."""
        drawn = np.tile(self.table.values, (len(arrays["draws"]), 1, 1))
        drawn[:, self._gaps] = arrays["draws"]
        self._take(drawn)
        self._rng.bit_generator.state = header["random"]
