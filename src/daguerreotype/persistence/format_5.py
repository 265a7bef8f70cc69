"""Files of learners up to format 5, which called shares of orders probabilities, as of today."""

from typing import Any

from daguerreotype._lib.archive import Arrays, Header


def upgrade(arrays: Arrays, header: Header) -> tuple[Arrays, Header]:
    """The contents of a file as they would be written now."""
    parameters = {"posterior": 0, **header["parameters"]}
    return arrays, {**header, "parameters": parameters, "result": _rename(header["result"])}


def _rename(saved: Any) -> Any:
    """JSON values with the shares of training under their name."""
    if isinstance(saved, list):
        return [_rename(each) for each in saved]
    if not isinstance(saved, dict):
        return saved
    renamed = {name: _rename(each) for name, each in saved.items()}
    if saved.get("record") == "TrainingResult" and "edge_probabilities" in renamed["fields"]:
        renamed["fields"]["edge_shares"] = renamed["fields"].pop("edge_probabilities")
    return renamed
