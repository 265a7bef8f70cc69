"""Records declare what they hold, and what they do not declare is refused."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
import pytest

from daguerreotype._lib.records import Shape, Unsaved, check_record, declared, saved
from daguerreotype._lib.registry import RECORDS
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray


class Speaks(Protocol):
    def speak(self) -> str: ...


class Leaf(NamedTuple):
    order: Annotated[IntArray, Shape("d", order=True)]
    marks: Annotated[BoolArray | None, Shape("m", "d")] = None


@dataclass(frozen=True)
class Tree:
    values: Annotated[FloatArray, Shape("m", "d", finite=True)]
    places: Annotated[IntArray, Shape("m+1", least=0, below="d")]
    leaves: Annotated[tuple[Leaf, ...], Shape("m")]
    count: Annotated[int, Shape(least=1)]
    kind: Literal["oak", "elm"] = "oak"
    share: float = 0.5
    names: tuple[str, ...] = ()
    levels: Annotated[tuple[Any, ...], Shape("k", labels=True)] = ()
    speaker: Speaks | None = None

    def check_saved(self) -> None:
        if self.share > 1.0:
            raise ValueError("more than a whole")


class Plain:
    def __init__(self, sizes: Annotated[IntArray, Shape("k", filled=True)], note: Any = None) -> None:
        self.sizes, self.note = sizes, note


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for record in (Leaf, Tree, Plain):
        monkeypatch.setitem(RECORDS, record.__name__, record)


def leaf(order=(1, 0, 2), marks=None):
    return Leaf(np.array(order), marks)


def tree(**changes):
    parts = {
        "values": np.zeros((2, 3)),
        "places": np.array([0, 1, 2]),
        "leaves": (leaf(), leaf(marks=np.ones((2, 3), dtype=bool))),
        "count": 1,
    }
    return Tree(**(parts | changes))


def test_what_is_as_declared_passes():
    for record in (
        tree(),
        tree(share=1, names=("a", "b"), kind="elm", speaker=Unsaved("a voice")),
        tree(levels=("a", 1, True, (2020, "b"))),
        Plain(np.array([1]), object()),
    ):
        check_record(record, {"d": 3} if isinstance(record, Tree) else {})


def test_what_is_not_is_refused():
    for changes in (
        {"values": np.zeros((2, 4))},
        {"values": np.zeros((3, 3))},
        {"values": np.zeros(6)},
        {"values": np.zeros((2, 3), dtype=int)},
        {"values": np.full((2, 3), np.nan)},
        {"values": [[0.0] * 3] * 2},
        {"places": np.array([0, 1])},
        {"places": np.array([0, 1, 3])},
        {"places": np.array([-1, 1, 2])},
        {"places": np.zeros(3)},
        {"leaves": (leaf(),)},
        {"leaves": (leaf(), 1)},
        {"leaves": (leaf(), leaf((0, 0, 2)))},
        {"leaves": (leaf(), leaf((0, 1)))},
        {"leaves": (leaf(), leaf(marks=np.ones((3, 3), dtype=bool)))},
        {"count": 0},
        {"count": True},
        {"kind": "fir"},
        {"share": "half"},
        {"share": 1.5},
        {"names": ("a", 1)},
        {"names": "ab"},
        {"levels": ("a", None)},
        {"levels": ("a", [1])},
        {"speaker": 3},
        {"speaker": object()},
    ):
        with pytest.raises(ValueError, match=r" of a | that no |whole"):
            check_record(tree(**changes), {"d": 3})


def test_the_arguments_of_a_class_that_is_no_dataclass_are_its_fields():
    assert list(declared(Plain)) == ["sizes", "note"]
    with pytest.raises(ValueError, match="sizes that no Plain has"):
        check_record(Plain(np.zeros(0, dtype=int)), {})


def test_two_classes_of_one_name_are_refused():
    with pytest.raises(ValueError, match="there is a part called 'Leaf' among records already"):
        saved(type("Leaf", (), {}))


def test_what_stands_for_an_unsaved_object_says_so_whatever_it_is_asked():
    stands = Unsaved.of(np.linalg.norm)
    assert repr(stands) == "<not saved: norm>"
    for ask in (stands, stands.predict, stands.log_density, stands.log_mass):
        with pytest.raises(ValueError, match="norm was not saved"):
            ask(0, 1)
