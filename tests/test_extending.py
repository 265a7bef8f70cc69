"""A new part is a file and a registry entry: a toy of each kind, in a package of its own, and nothing else."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.learners import make_learner

ROOT = Path(__file__).parents[1]
TOYS = {
    "edges": '''
"""Edges to the one predecessor that correlates most."""
import numpy as np
from dataclasses import replace
from daguerreotype.edges import EDGES, Capabilities, EdgeEstimator, EdgesEntry, LinearPredictor, LocalFit


class ToyEdges(EdgeEstimator):
    can = Capabilities(from_moments=True)

    def __init__(self, least=0.1):
        self.least = least

    def prepare(self, table):
        return ToyModels(table, self.least)


class ToyModels(LinearPredictor):
    can = replace(LinearPredictor.can, residuals=True)

    def __init__(self, table, least):
        self.table, self.least = table, least

    def fit(self, node, predecessors):
        moments = self.table.moments
        shared = moments[predecessors, node] / np.diag(moments)[predecessors]
        if not predecessors.size or np.abs(shared).max() < self.least:
            return LocalFit.gaussian(predecessors[:0], np.zeros(0), moments[node, node], 0.0)
        best = np.array([np.argmax(np.abs(shared))])
        parents, weights = predecessors[best], shared[best]
        left = moments[node, node] - weights @ moments[parents, node]
        return LocalFit.gaussian(parents, weights, left, 1.0)

    def residuals(self, node, fit):
        return self.table.values[:, node] - self.predict(node, fit, self.table.values)


SPACE = {"edges.least": (0.01, 0.5, "log")}
EDGES.register("toy", EdgesEntry("toys.edges:ToyEdges", "one parent at most", space=SPACE))
''',
    "operators": '''
"""All mass on the sorted order."""
import numpy as np
from daguerreotype.operators import OPERATORS, OperatorEntry, OrderDistribution


def sort(theta, tau):
    return OrderDistribution.of_order(np.argsort(theta, kind="stable"))


OPERATORS.register("toy", OperatorEntry(lambda: sort, "the sorted order"))
''',
    "noise": '''
"""Laplace noise."""
from dataclasses import dataclass
import numpy as np
from daguerreotype.noise import NOISE, NoiseEntry, saved


@saved
@dataclass(frozen=True)
class LaplaceDensity:
    scale: float

    def log_density(self, residuals):
        return -np.log(2 * self.scale) - np.abs(residuals) / self.scale


@saved
@dataclass(frozen=True)
class Laplace:
    needs_residuals: bool = True
    max_rows: int | None = None

    def nll(self, residuals):
        return float(np.log(2 * np.e * np.mean(np.abs(residuals))))

    def fit(self, residuals):
        return LaplaceDensity(float(np.mean(np.abs(residuals))))


NOISE.register("toy", NoiseEntry(Laplace, "Laplace noise"))
''',
    "scales": '''
"""Cube roots."""
import numpy as np
from daguerreotype.data import SCALES, Scale


def log_slope(values, parameters):
    return -np.log(3) - 2 * np.log(np.abs(np.cbrt(values)))


def fit(values, intervened):
    return np.zeros((values.shape[1], 3))


SCALES.register("toy", Scale("cube roots", lambda values, parameters: np.cbrt(values), log_slope, fit, True))
''',
    "losses": '''
"""The largest negative log-likelihood of a node would not be a sum: the sum of all, doubled."""
from daguerreotype.training import LOSSES, LossEntry, PenalizedLikelihood


class Doubled(PenalizedLikelihood):
    def total(self, sums, d):
        return 2 * super().total(sums, d)


LOSSES.register("toy", LossEntry(Doubled, "twice BIC"))
''',
    "formats": '''
"""A table as JSON, a list per column."""
import json
import pandas as pd
from daguerreotype.data import FORMATS, FormatEntry


def read(data, name):
    return pd.DataFrame(json.loads(data[4:]))


def batches(path, n_rows):
    frame = read(path.read_bytes(), path.name)
    return (frame.iloc[first : first + n_rows] for first in range(0, len(frame), n_rows))


FORMATS.register("toy", FormatEntry((".toy",), b"TOY1", read, batches))
''',
}
PARTS = {
    "edges": ("daguerreotype.edges", "EDGES"),
    "operators": ("daguerreotype.operators", "OPERATORS"),
    "noise": ("daguerreotype.noise", "NOISE"),
    "scales": ("daguerreotype.data", "SCALES"),
    "losses": ("daguerreotype.training", "LOSSES"),
    "formats": ("daguerreotype.data", "FORMATS"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with the package ``toys``, whose import registers all of them."""
    folder = tmp_path_factory.mktemp("extension")
    toys = folder / "toys"
    toys.mkdir()
    for name, source in TOYS.items():
        (toys / f"{name}.py").write_text(source)
    (toys / "__init__.py").write_text("".join(f"import toys.{name}\n" for name in TOYS))
    return folder


@pytest.fixture(scope="module")
def toys(package):
    """The toys are registered while the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(package))
        places = (*PARTS.values(), ("daguerreotype._lib.records", "RECORDS"))
        registries = [getattr(import_module(module), name) for module, name in places]
        before = [dict(registry) for registry in registries]
        __import__("toys")
        yield
        for registry, entries in zip(registries, before, strict=True):
            registry.clear()
            registry.update(entries)
        for name in [name for name in sys.modules if name.split(".")[0] == "toys"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    cause = rng.laplace(size=200) + 5
    effect = cause + rng.laplace(size=200)
    return pd.DataFrame({"effect": effect, "cause": cause, "other": rng.laplace(size=200) + 5})


SETTINGS = [
    {"edges": "toy", "scales": "none", "loss": "bic"},
    {"operator": "toy", "edges": "bic", "scales": "none"},
    {"noise": "toy", "edges": "bic", "scales": "none"},
    {"scales": "toy", "edges": "bic", "loss": "bic"},
    {"loss": "toy", "edges": "bic", "scales": "none"},
    {"edges": "toy", "operator": "toy", "noise": "toy", "scales": "toy", "loss": "toy"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: next(iter(settings)))
def test_a_learner_with_a_toy_fits_scores_and_is_saved(toys, table, settings, tmp_path):
    from daguerreotype import Daguerreotype

    learner = make_learner(max_iter=10, n_restarts=0, **settings).fit(table)
    assert ("cause", "effect") in learner.causal_graph_.edges or ("effect", "cause") in learner.causal_graph_.edges
    assert np.isfinite(learner.score(table))
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weights_, learner.weights_)
    assert loaded.get_params() == learner.get_params()
    assert loaded.score(table) == learner.score(table)


def test_the_noise_of_a_toy_is_what_rows_are_scored_by(toys, table):
    from daguerreotype import Daguerreotype

    learner = Daguerreotype(edges="bic", noise="toy", scales="none", standardize=False).fit(table)
    order, density = list(learner.causal_order_), 0.0
    centred = table - table.mean()
    for column in order:
        residual = centred[column] - centred @ learner.weights_[column]
        scale = residual.abs().mean()
        density -= np.log(2 * scale) + (residual.abs() / scale).mean()
    assert learner.score(table) == pytest.approx(density)


def test_the_noise_of_a_toy_is_that_of_the_columns_that_ask_for_it(toys, table, tmp_path):
    from daguerreotype import Daguerreotype

    sick = table["cause"] + np.random.default_rng(1).logistic(size=200) > 5
    X = table.assign(sick=sick)
    settings = {"edges": "bic", "scales": "none", "max_iter": 10}
    learner = make_learner(noise={"cause": "toy"}, **settings).fit(X)
    assert learner.columns_["noise"]["cause"] == "toy"
    assert learner.columns_["noise"]["effect"] != "toy"
    assert learner.columns_["noise"]["sick"] == "bernoulli"
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert loaded.columns_["noise"].to_dict() == learner.columns_["noise"].to_dict()
    assert loaded.score(X) == learner.score(X)
    assert loaded.get_params() == learner.get_params()
    everywhere = make_learner(noise="toy", **settings).fit(X)
    assert everywhere.columns_["noise"].to_dict() == {
        "effect": "toy",
        "cause": "toy",
        "other": "toy",
        "sick": "bernoulli",
    }
    with pytest.raises(
        ValueError, match=r"noise 'toy' cannot describe 'sick', which is binary .*choose 'bernoulli'"
    ):
        make_learner(noise={"sick": "toy"}, **settings).fit(X)


def test_an_estimator_of_discrete_columns_must_say_how_likely_they_are(toys, table):
    from toys.edges import ToyEdges

    from daguerreotype import Daguerreotype
    from daguerreotype.training import Bilevel

    class TakesAll(ToyEdges):
        can = replace(ToyEdges.can, kinds=True)

    X = table.assign(sick=table["cause"] > 5)
    with pytest.raises(TypeError, match=r"ToyModels has no mass\(node, fit\): give it one"):
        Daguerreotype(edges=TakesAll(), scales="none", training=Bilevel(loss="bic", max_iter=5)).fit(X)


def test_an_estimator_as_an_object_is_saved_and_searched_over(toys, table, tmp_path):
    from toys.edges import ToyEdges

    from daguerreotype import Daguerreotype
    from daguerreotype.training import Bilevel
    from daguerreotype.tune import default_space

    learner = Daguerreotype(edges=ToyEdges(0.2), scales="none", training=Bilevel(max_iter=5))
    assert default_space(learner) == {"edges.least": (0.01, 0.5, "log")}
    learner.fit(table).save(tmp_path / "model.npz")
    assert Daguerreotype.load(tmp_path / "model.npz").edges.least == 0.2


def test_a_toy_that_says_so_is_streamed(toys, table):

    settings = {"edges": "toy", "scales": "toy", "loss": "bic", "max_iter": 10, "n_restarts": 0}
    whole, streamed = make_learner(**settings).fit(table), make_learner(**settings)
    streamed.fit_chunks(lambda: iter([table[:90], table[90:]]))
    np.testing.assert_allclose(np.asarray(streamed.weights_), np.asarray(whole.weights_), rtol=1e-9)


def test_a_file_of_a_toy_format_is_read_whole_and_in_chunks(toys, table, tmp_path):
    from daguerreotype import Daguerreotype
    from daguerreotype.data import read_table
    from daguerreotype.training import Bilevel

    path = tmp_path / "table.toy"
    path.write_bytes(b"TOY1" + json.dumps(table.to_dict("list")).encode())
    pd.testing.assert_frame_equal(read_table(path), table)
    streamed = Daguerreotype(edges="bic", training=Bilevel(max_iter=5)).fit_chunks(path)
    assert list(streamed.feature_names_in_) == list(table.columns)


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        ({"edges": "nonsense"}, "edges must be one of"),
        ({"operator": "nonsense"}, "operator must be"),
        ({"noise": "nonsense"}, "noise must be"),
        ({"scales": "nonsense"}, "scales must be"),
        ({"loss": "nonsense"}, "loss must be one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_messages_list_the_toy_among_what_is_known(toys, table, settings, listed):

    with pytest.raises(ValueError, match=rf"{listed}.*'toy'.*'nonsense'"):
        make_learner(**settings).fit(table)


def test_the_command_line_takes_the_toys(package, table, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    start = "import toys; from daguerreotype.cli.main import app; app()"
    options = ["--edges", "toy", "--operator", "toy", "--scales", "toy", "--quiet", "--json"]
    command = [sys.executable, "-c", start, "fit", str(tmp_path / "table.csv"), *options]
    environment = {"PYTHONPATH": f"{package}:{ROOT / 'src'}", "PATH": "", "HOME": str(tmp_path)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert set(json.loads(run.stdout)["scales"].values()) == {"toy"}
    shown = subprocess.run([*command[:3], "fit", "--help"], capture_output=True, text=True, env=environment)
    assert "one parent at most" in " ".join(shown.stdout.replace("│", " ").split())


def test_what_the_architecture_page_names_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    source = ROOT / "src" / "daguerreotype"
    import re

    for name in re.findall(r"`((?:[\w_]+/)+[\w_]*(?:\.py)?|[a-z_]+\.py)`", page):
        path = source / name
        assert path.exists() or (ROOT / name).exists(), name
    for module, function in re.findall(r"`((?:[\w_]+/)*[a-z_]+)\.(?!py`)([A-Za-z_]+)`", page):
        path = source / f"{module}.py"
        assert not path.exists() or re.search(rf"(def|class) {function}\b", path.read_text()), (module, function)
