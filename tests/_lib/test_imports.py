"""Names of a package are imported on first use."""

import subprocess
import sys

import pytest

from daguerreotype._lib.imports import lazy_names


def test_a_name_is_that_of_its_module():
    from json.decoder import JSONDecoder

    assert lazy_names("json", {"decoder": "JSONDecoder"})("JSONDecoder") is JSONDecoder


def test_an_unknown_name_is_refused_in_the_words_of_python():
    with pytest.raises(AttributeError, match=r"^module 'json' has no attribute 'Decoder'$"):
        lazy_names("json", {"decoder": "JSONDecoder"})("Decoder")


@pytest.mark.parametrize(
    ("package", "name", "heavy"),
    [("baselines", "Baseline", "sklearn"), ("plotting", "plot_graph", "matplotlib")],
)
def test_a_package_loads_what_is_heavy_when_a_name_is_used(package, name, heavy):
    pytest.importorskip(heavy)
    code = (
        f"import sys, daguerreotype.{package} as package; print({heavy!r} in sys.modules)\n"
        f"package.{name}; print({heavy!r} in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "True"]
