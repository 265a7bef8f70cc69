"""Names of a package are imported on first use."""

import subprocess
import sys

import pytest

from daguerreotype._lib.imports import lazy_names


def test_a_name_is_that_of_its_module_and_an_unknown_one_is_refused_in_the_words_of_python():
    from json.decoder import JSONDecoder

    names = lazy_names("json", {"decoder": "JSONDecoder"})
    assert names("JSONDecoder") is JSONDecoder
    with pytest.raises(AttributeError, match=r"^module 'json' has no attribute 'Decoder'$"):
        names("Decoder")


def test_packages_load_what_is_heavy_when_a_name_is_used():
    pytest.importorskip("matplotlib")
    code = (
        "import sys, daguerreotype.baselines as baselines, daguerreotype.plotting as plotting\n"
        "heavy = {'sklearn', 'matplotlib'}; print(heavy & set(sys.modules))\n"
        "baselines.Baseline; plotting.plot_graph; print(heavy - set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["set()", "set()"]
