"""Libraries are asked for by name, kept silent, and leave global state as it was."""

import logging
import random
import sys
import warnings

import numpy as np
import pytest

from daguerreotype import baselines
from daguerreotype.baselines.libraries import load, quiet, seeded
from support.fits import linear_data


@pytest.mark.parametrize(
    ("name", "missing", "extra"), [("boss", "causallearn", "baselines"), ("notears-mlp", "torch", "torch")]
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(name, missing, extra, monkeypatch):
    method = baselines.get(name)
    for module in [module for module in sys.modules if module.split(".")[0] in (missing, "castle")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)  # Python's way to say that it is not there
    if name == "notears-mlp":
        monkeypatch.setattr(type(method), "libraries", ("torch",))
    with pytest.raises(ImportError, match=rf'needs {missing}, .* Run: pip install "daguerreotype\[{extra}\]"'):
        method.fit(linear_data(0, 30, 3))


def test_quiet_swallows_words_and_restores_logging_printing_and_precision(capfd):
    torch = pytest.importorskip("torch")
    root = logging.getLogger()
    before = root.level, list(root.handlers), np.get_printoptions(), torch.get_default_dtype()
    with quiet():
        print("hello")  # noqa: T201
        print("progress", file=sys.stderr)  # noqa: T201
        warnings.warn("too few rows", stacklevel=1)
        logging.basicConfig(level=logging.INFO, force=True)
        logging.info("still here")
        np.set_printoptions(precision=1)
        torch.set_default_dtype(torch.float64)
    assert (root.level, list(root.handlers), np.get_printoptions(), torch.get_default_dtype()) == before
    assert capfd.readouterr().out == ""


def test_quiet_restores_after_an_error():
    level = logging.getLogger().level
    with pytest.raises(KeyError), quiet():
        raise KeyError("lost")
    assert logging.getLogger().level == level


def test_seeded_draws_are_those_of_the_generator_and_leave_no_trace():
    torch = pytest.importorskip("torch")

    def draw():
        return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002

    def draw_seeded(seed):
        with seeded(np.random.default_rng(seed)):
            return draw()

    with seeded(np.random.default_rng(9)):
        expected = draw(), draw()
    with seeded(np.random.default_rng(9)):
        first = draw()
        assert draw_seeded(0) == draw_seeded(0) != draw_seeded(1)
        assert (first, draw()) == expected


def test_a_library_that_is_there_is_handed_out():
    assert load("json").loads("[1]") == [1]
