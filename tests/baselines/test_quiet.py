"""Libraries are asked for by name, kept silent, and leave global state as it was."""

import logging
import random
import sys
import warnings

import numpy as np
import pytest

from daguerreotype import baselines
from daguerreotype.baselines.quiet import quiet, seeded
from support.fits import linear_data


@pytest.mark.parametrize(
    ("name", "missing", "extra"), [("boss", "causallearn", "baselines"), ("bcd-nets", "torch", "torch")]
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(name, missing, extra, monkeypatch):
    ours = "daguerreotype.baselines.bcd_nets"
    for module in [module for module in sys.modules if module.split(".")[0] == missing or module == ours]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)  # Python's way to say that it is not there
    with pytest.raises(ImportError, match=rf'needs {missing}, .* Run: pip install "daguerreotype\[{extra}\]"'):
        baselines.get(name).fit(linear_data(0, 30, 3))


def test_quiet_swallows_words_and_restores_logging_printing_and_precision(capfd):
    torch = pytest.importorskip("torch")
    root = logging.getLogger()
    before = root.level, list(root.handlers), np.get_printoptions(), torch.get_default_dtype()

    def talk_and_fail():
        print("hello")  # noqa: T201
        print("progress", file=sys.stderr)  # noqa: T201
        warnings.warn("too few rows", stacklevel=1)
        logging.basicConfig(level=logging.INFO, force=True)
        logging.info("still here")
        np.set_printoptions(precision=1)
        torch.set_default_dtype(torch.float64)
        raise KeyError("lost")

    with pytest.raises(KeyError), quiet():
        talk_and_fail()
    assert (root.level, list(root.handlers), np.get_printoptions(), torch.get_default_dtype()) == before
    assert capfd.readouterr().out == ""


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
