import json
import subprocess
import sys

HEAVY = {"numba", "torch", "sklearn", "pandas", "matplotlib", "scipy", "networkx"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_loads_no_heavy_library():
    loaded = json.loads(run("import daguerreotype, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert not HEAVY & {name.split(".")[0] for name in loaded}


def test_every_public_name_can_be_reached_and_is_listed():
    code = "import daguerreotype as d; [getattr(d, n) for n in d.__all__]; assert set(d.__all__) <= set(dir(d))"
    run(code)


def test_an_unknown_name_is_an_attribute_error():
    code = "import daguerreotype\ntry: daguerreotype.Nonsense\nexcept AttributeError as error: print(error)"
    assert "'Nonsense'" in run(code)
