"""Records of a fit as arrays and JSON values, and back; only classes that are listed here come to life."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.column_scales import ColumnScales
from daguerreotype.data.kinds import Kind
from daguerreotype.data.missing import Gaps
from daguerreotype.data.support import Support
from daguerreotype.data.table import OnScale, Table
from daguerreotype.data.transforms import Identity, OfSomeColumns
from daguerreotype.edges.base import HasPredictor, LocalFit, LocalModels, offered
from daguerreotype.edges.basis import CountCurve, LevelEffects, SplineCurve
from daguerreotype.edges.interventional import GroupedModels
from daguerreotype.edges.mixed import MixedFit, MixedPredictor
from daguerreotype.edges.predictors import CurvePredictor, GamFit, LinearPredictor, MlpFit, NetworkPredictor
from daguerreotype.edges.splines import DEGREE
from daguerreotype.noise.categorical import CategoricalMass
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.free_shape import RelativeDensity
from daguerreotype.noise.gaussian import GaussianDensity
from daguerreotype.noise.ordinal import OrdinalMass
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.active_set import SupportPullback
from daguerreotype.operators.k_best import RankingTree
from daguerreotype.operators.peel import PeelPullback
from daguerreotype.operators.sparsemax import SparsemaxPullback
from daguerreotype.persistence.settings import (
    decode_kind,
    decode_setting,
    encode_kind,
    encode_names,
    encode_setting,
)
from daguerreotype.persistence.validation import check_fields
from daguerreotype.posterior import Posterior
from daguerreotype.result import Completion, FitHistory, FitResult, ScaleFit
from daguerreotype.training.train import TrainingResult

FITS = (LocalFit, GamFit, MlpFit, MixedFit)
SCALES = (Identity, OfSomeColumns, ColumnScales)
DENSITIES = (GaussianDensity, RelativeDensity, CategoricalMass, OrdinalMass, CountMass)
BASES = (SplineCurve, CountCurve, LevelEffects)
PULLBACKS = (SparsemaxPullback, SupportPullback, PeelPullback)
# The only classes that a file can bring to life; all of them are plain records.
RECORDS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(FitResult, ScaleFit, OnScale, TrainingResult, FitHistory, OrderDistribution, RankingTree),
        *(Support, Gaps, Completion, Posterior),
        *(*SCALES, *DENSITIES, *PULLBACKS, *BASES),
    )
}


@dataclass(frozen=True)
class UnsavedModels:
    """Stands for local models whose predictions a file cannot hold."""

    what: str

    def predict(self, node: int, fit: LocalFit, values: FloatArray) -> FloatArray:
        """Say why there are none."""
        raise ValueError(
            f"what {self.what} learned was not saved with the graph, so a loaded learner cannot predict rows. "
            "Fit it again, or save a learner with edges 'gam', 'bic', 'lars', 'lasso', 'linear' or 'mlp'."
        )


@dataclass(frozen=True)
class UnsavedPart:
    """Stands for a scale or the noise of a node that is of the user's own class."""

    what: str
    name: str = "unsaved"
    n_parameters: int = 0

    def apply(self, values: FloatArray) -> FloatArray:
        """Say why there is none."""
        raise ValueError(
            f"{self.what} was not saved: it is not a class of this package, so a loaded learner cannot score "
            "rows. Fit it again."
        )

    log_slopes = log_density = apply


@dataclass(frozen=True)
class UnsavedPullback:
    """Stands for the derivative of an operator of the user's."""

    n_nodes: int

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Zero for a single ranking, which keeps its probability whatever theta; an error for several."""
        if grad_probs.size == 1:
            return np.zeros(self.n_nodes)
        raise ValueError(
            "the derivative of this distribution was not saved: its operator is not one of this package. "
            "Call the operator on theta_ again."
        )


class RecordWriter:
    """Takes records apart into JSON values and named arrays; an array that occurs twice is kept once."""

    def __init__(self, edges: str) -> None:
        self.edges, self.arrays, self._names = edges, cast(Arrays, {}), cast(dict[int, str], {})

    def put(self, name: str, value: Any) -> Any:
        """JSON values for ``value``; its arrays are kept under names that begin with ``name``."""
        if isinstance(value, np.ndarray):
            kept = self._names.setdefault(id(value), name)
            self.arrays[kept] = value
            return {"array": kept}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Kind):
            return {"kind": encode_kind(value)}
        if isinstance(value, Table):
            return {
                "names": list(value.names),
                "kinds": [encode_kind(kind) for kind in value.kinds],
                "steps": self.put(f"{name}.steps", value.steps),
            }
        if isinstance(value, BSpline):
            return {"spline": [self.put(f"{name}.knots", value.t), self.put(f"{name}.coefficients", value.c)]}
        if isinstance(value, UnsavedPullback):
            return {"no derivative": value.n_nodes}
        if isinstance(value, UnsavedPart):
            return {"unsaved": value.what}
        if isinstance(value, list | tuple) and not isinstance(value, RankingTree):
            return {"list": [self.put(f"{name}.{place}", each) for place, each in enumerate(value)]}
        if isinstance(value, OrderDistribution) and not isinstance(value.pullback, PULLBACKS):
            value = replace(value, pullback=UnsavedPullback(value.n_nodes))
        kind = type(value).__name__
        if RECORDS.get(kind) is not type(value):
            return {"unsaved": kind}
        parts = RankingTree._fields if isinstance(value, RankingTree) else [each.name for each in fields(value)]
        put: dict[str, Callable[[str, Any], Any]] = {}
        if isinstance(value, TrainingResult):
            put = {"fits": self._put_fits, "models": self._put_models, "scores": lambda _, scores: None}
        elif isinstance(value, FitResult):
            put = {
                "criterion": lambda _, criterion: {"setting": encode_setting(criterion)},
                "own_names": lambda _, names: {"setting": encode_names(names)},
            }
        elif isinstance(value, Posterior):
            put = {"names": lambda _, names: {"setting": encode_names(names)}}
        elif isinstance(value, ScaleFit):
            put = {"noise_models": lambda _, models: {"list": []}}  # what training needs alone
        values = {part: put.get(part, self.put)(f"{name}.{part}", getattr(value, part)) for part in parts}
        return {"record": kind, "fields": values}

    def _put_fits(self, name: str, fits: Sequence[LocalFit]) -> Header:
        """Fits field by field: numbers as one array, arrays end to end."""
        kinds = {type(fit) for fit in fits}
        kind = kinds.pop() if len(kinds) == 1 else LocalFit
        kind = kind if kind in FITS else LocalFit
        for field in fields(kind):
            values = [getattr(fit, field.name) for fit in fits]
            if isinstance(values[0], np.ndarray):
                self._put_ragged(f"{name}.{field.name}", values)
            else:
                self.arrays[f"{name}.{field.name}"] = np.array(values)
        return {"fits": name, "kind": kind.__name__}

    def _put_models(self, name: str, models: Any) -> Header:
        """What predicts without the table, where the models have it."""
        predictor = models.predictor() if offered(models, HasPredictor) is not None else models
        if type(predictor) is GroupedModels and offered(predictor, HasPredictor) is not None:
            each = [self._put_models(f"{name}.{group}", part) for group, part in enumerate(predictor.parts)]
            saved = {
                part: self.put(f"{name}.{part}", getattr(predictor, part))
                for part in ("group", "centres", "effect_centres")
            }
            return {"predictor": "groups", "models": each, **saved}
        if type(predictor) is CurvePredictor:
            empty = np.zeros(0)
            splines = [(empty, empty[None]) if each is None else (each.t, each.c) for each in predictor.splines]
            self._put_ragged(f"{name}.knots", [knots for knots, _ in splines])
            self._put_ragged(f"{name}.coefficients", [coefficients for _, coefficients in splines])
            return {"predictor": "curves", "at": name, "names": list(predictor.names), "stride": predictor.stride}
        if type(predictor) is MixedPredictor:
            bases = [self.put(f"{name}.basis.{i}", basis) for i, basis in enumerate(predictor.bases)]
            return {
                "predictor": "mixed",
                "names": list(predictor.names),
                "stride": predictor.stride,
                "bases": bases,
            }
        if type(predictor) is NetworkPredictor:
            return {"predictor": "network", "activation": predictor.activation}
        if type(predictor) is LinearPredictor:
            return {"predictor": "linear"}
        return {"predictor": "unsaved", "what": models.what if isinstance(models, UnsavedModels) else self.edges}

    def _put_ragged(self, name: str, values: Sequence[npt.NDArray[Any]]) -> None:
        """Arrays of several shapes end to end, and their shapes."""
        self.arrays[name] = np.concatenate([value.ravel() for value in values])
        self.arrays[f"{name}.shapes"] = np.array([value.shape for value in values], dtype=np.int64)


class RecordReader:
    """Puts together what `RecordWriter` took apart."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def take(self, saved: Any) -> Any:
        """The value behind JSON values."""
        if not isinstance(saved, dict):
            return saved
        if "array" in saved:
            return self.arrays[saved["array"]]
        if "predictor" in saved:
            return self._take_models(saved)
        if "fits" in saved:
            return self._take_fits(saved)
        if "record" not in saved and "kind" in saved:
            return decode_kind(saved["kind"])
        if "no derivative" in saved:
            return UnsavedPullback(saved["no derivative"])
        if "unsaved" in saved:
            return UnsavedPart(saved["unsaved"])
        if "setting" in saved:
            return decode_setting(saved["setting"])
        if "spline" in saved:
            knots, coefficients = (self.take(each) for each in saved["spline"])
            return BSpline(knots, coefficients, DEGREE)
        if "list" in saved:
            return tuple(self.take(each) for each in saved["list"])
        if "names" in saved:
            kinds = tuple(decode_kind(kind) for kind in saved.get("kinds", ()))  # format 2 has none
            steps, names = self.take(saved.get("steps")), tuple(saved["names"])
            return Table(np.zeros((0, len(names))), names, kinds=kinds, steps=steps)
        parts = {part: self.take(value) for part, value in saved["fields"].items()}
        record = RECORDS[saved["record"]]
        check_fields(record, parts)
        return record(**parts)

    def _take_fits(self, saved: Header) -> list[LocalFit]:
        """Fits, one by one."""
        kind = {each.__name__: each for each in FITS}[saved["kind"]]
        parts: dict[str, Sequence[Any]] = {}
        for field in fields(kind):
            name = f"{saved['fits']}.{field.name}"
            ragged = f"{name}.shapes" in self.arrays
            parts[field.name] = self._take_ragged(name) if ragged else self.arrays[name].tolist()
        return [kind(**dict(zip(parts, values, strict=True))) for values in zip(*parts.values(), strict=True)]

    def _take_models(self, saved: Header) -> LocalModels:
        """A predictor; it can fit nothing more, and is not asked to."""
        kind = saved["predictor"]
        models: Any
        if kind == "curves":
            knots, rest = (self._take_ragged(f"{saved['at']}.{part}") for part in ("knots", "coefficients"))
            splines = [BSpline(t, c, DEGREE) if t.size else None for t, c in zip(knots, rest, strict=True)]
            models = CurvePredictor(saved["names"], splines, saved["stride"])
        elif kind == "mixed":
            bases = [self.take(each) for each in saved["bases"]]
            models = MixedPredictor(saved["names"], bases, saved["stride"])
        elif kind == "network":
            models = NetworkPredictor(saved["activation"])
        elif kind == "groups":
            parts = [self._take_models(each) for each in saved["models"]]
            centres = [self.take(saved.get(part)) for part in ("centres", "effect_centres")]  # format 3 has one
            models = GroupedModels(parts, self.take(saved["group"]), *centres)
        else:
            models = LinearPredictor() if kind == "linear" else UnsavedModels(saved["what"])
        return cast(LocalModels, models)

    def _take_ragged(self, name: str) -> list[npt.NDArray[Any]]:
        """Arrays of several shapes."""
        shapes = self.arrays[f"{name}.shapes"]
        ends = np.cumsum(shapes.prod(axis=1))
        pieces = np.split(self.arrays[name], ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
