"""Files of learners in format 3, which had one scale for all columns and no floor under edges, as of today."""

from typing import Any

import numpy as np

from daguerreotype._lib.archive import Arrays, Header


def upgrade(arrays: Arrays, header: Header) -> tuple[Arrays, Header]:
    """The contents of a file as they would be written now: the scale of every column, and a floor of zero."""
    parameters = {"min_gain": 0.0, **header["parameters"]}
    added: Arrays = {}
    result = _upgrade_scales(header["result"], arrays, added)
    return {**arrays, **added}, {**header, "parameters": parameters, "result": result}


def _upgrade_scales(saved: Any, arrays: Arrays, added: Arrays) -> Any:
    """JSON values, wherever a scale of all columns is among them with one scale for each."""
    if isinstance(saved, list):
        return [_upgrade_scales(each, arrays, added) for each in saved]
    if not isinstance(saved, dict):
        return saved
    record = saved.get("record")
    if record not in ("ShiftedLog", "YeoJohnson"):
        return {name: _upgrade_scales(each, arrays, added) for name, each in saved.items()}
    names = ["shift"] if record == "ShiftedLog" else ["power", "centre", "scale"]
    columns = [arrays[saved["fields"][name]["array"]] for name in names]
    parameters = np.zeros((columns[0].size, 3))
    parameters[:, : len(columns)] = np.column_stack(columns)
    added["scales"] = parameters
    form = "log" if record == "ShiftedLog" else "yeo-johnson"
    fields = {"forms": {"list": [form] * len(parameters)}, "parameters": {"array": "scales"}}
    return {"record": "ColumnScales", "fields": fields}
