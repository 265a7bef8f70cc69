"""Files of learners in format 1, which version 0.1.0 wrote, in the terms of format 2."""

from typing import Any

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype.noise.gaussian import nll_of_variance


def upgrade(arrays: Arrays, header: Header) -> tuple[Arrays, Header]:
    """The arrays and the header as they are in format 2.

    Fits held variances in place of log-likelihoods, noise was always scored as Gaussian, and what is now a
    :class:`FitResult` was spread over the header.
    """
    fitted = dict(header["fitted"]["fields"])
    learned = dict(fitted["learned"]["fields"])
    fits = learned["fits"]["fits"]
    variances = arrays[f"{fits}.variance"]
    arrays = {**arrays, f"{fits}.nll": nll_of_variance(variances)}
    learned["rows_per_node"] = learned.pop("counted")
    scaled = {
        "transform": fitted["transform"],
        "centre": fitted["centre"],
        "spread": fitted["scale"],
        "table": fitted["table"],
    }
    best = {
        "scaled": _record("OnScale", scaled),
        "typical": fitted["typical"],
        "training": _record("TrainingResult", {**learned, "holds_rows": False}),
        "densities": {"list": [_record("GaussianDensity", {"variance": float(each)}) for each in variances]},
        "gaussian": fitted["gaussian"],
        "log_likelihood": fitted["log_likelihood"],
    }
    columns = arrays[header["columns"]["array"]]
    names = dict(zip(columns.tolist(), fitted["table"]["names"], strict=True))
    result = {
        "best": _record("ScaleFit", best),
        "columns": header["columns"],
        "names": {"list": [names[j] for j in range(len(names))]},
        "named": header["named"],
        "criterion": {"setting": header["attributes"]["criterion_"]},
    }
    return arrays, {**header, "result": _record("FitResult", result)}


def _record(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"record": kind, "fields": values}
