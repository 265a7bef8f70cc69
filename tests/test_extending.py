"""A new part is a file and a registry entry: a toy of each kind, in a package of its own, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
TOYS = {
    "edges": '''
"""Edges to the one predecessor that correlates most."""
import numpy as np
from daguerreotype.edges import EDGES, EdgesEntry, LinearPredictor, LocalFit


class ToyEdges:
    from_moments = True

    def __init__(self, least=0.1):
        self.least = least

    def prepare(self, table):
        return ToyModels(table, self.least)


class ToyModels(LinearPredictor):
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


def make(k, precedence):
    return lambda theta, tau: OrderDistribution.of_order(np.argsort(theta, kind="stable"))


OPERATORS.register("toy", OperatorEntry(make, "the sorted order"))
''',
    "noise": '''
"""Laplace noise."""
from dataclasses import dataclass
import numpy as np
from daguerreotype.noise import NOISE, NoiseEntry


@dataclass(frozen=True)
class LaplaceDensity:
    scale: float

    def log_density(self, residuals):
        return -np.log(2 * self.scale) - np.abs(residuals) / self.scale


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
from dataclasses import dataclass
import numpy as np
from daguerreotype.data import SCALES, ScaleEntry


@dataclass(frozen=True)
class CubeRoot:
    name: str = "toy"
    n_parameters: int = 0

    def apply(self, values):
        return np.cbrt(values)

    def log_slopes(self, values):
        return -np.log(3) - 2 * np.log(np.abs(np.cbrt(values)))


SCALES.register("toy", ScaleEntry(lambda values, intervened: CubeRoot(), "cube roots", from_ends=True))
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
        __import__("toys")
        yield
        for module, name in PARTS.values():
            getattr(__import__(module, fromlist=[name]), name).unregister("toy")
        for name in [name for name in sys.modules if name.split(".")[0] == "toys"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    cause = rng.laplace(size=200) + 5
    effect = cause + rng.laplace(size=200)
    return pd.DataFrame({"effect": effect, "cause": cause, "other": rng.laplace(size=200) + 5})


SETTINGS = [
    {"edges": "toy", "transform": "none", "loss": "bic"},
    {"operator": "toy", "edges": "bic", "transform": "none"},
    {"noise": "toy", "edges": "bic", "transform": "none"},
    {"transform": "toy", "edges": "bic", "loss": "bic"},
    {"loss": "toy", "edges": "bic", "transform": "none"},
    {"edges": "toy", "operator": "toy", "noise": "toy", "transform": "toy", "loss": "toy"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: next(iter(settings)))
def test_a_learner_with_a_toy_fits_scores_and_is_saved(toys, table, settings, tmp_path):
    from daguerreotype import Daguerreotype

    learner = Daguerreotype(**settings, max_iter=10, n_restarts=0).fit(table)
    assert ("cause", "effect") in learner.causal_graph_.edges or ("effect", "cause") in learner.causal_graph_.edges
    assert np.isfinite(learner.score(table))
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weights_, learner.weights_)
    assert loaded.get_params() == learner.get_params()


def test_the_noise_of_a_toy_is_what_rows_are_scored_by(toys, table):
    from daguerreotype import Daguerreotype

    learner = Daguerreotype(edges="bic", noise="toy", transform="none", standardize=False).fit(table)
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
    settings = {"edges": "bic", "transform": "none", "max_iter": 10}
    learner = Daguerreotype(noise={"cause": "toy"}, **settings).fit(X)
    assert learner.noise_["cause"] == "toy"
    assert learner.noise_["effect"] != "toy"
    assert learner.noise_["sick"] == "bernoulli"
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert loaded.noise_ == learner.noise_
    assert loaded.get_params() == learner.get_params()
    everywhere = Daguerreotype(noise="toy", **settings).fit(X)
    assert everywhere.noise_ == {"effect": "toy", "cause": "toy", "other": "toy", "sick": "bernoulli"}
    with pytest.raises(
        ValueError, match=r"noise 'toy' cannot describe 'sick', which is binary .*choose 'bernoulli'"
    ):
        Daguerreotype(noise={"sick": "toy"}, **settings).fit(X)


def test_an_estimator_of_discrete_columns_must_say_how_likely_they_are(toys, table):
    from toys.edges import ToyEdges

    from daguerreotype import Daguerreotype

    class TakesAll(ToyEdges):
        takes_kinds = True

    X = table.assign(sick=table["cause"] > 5)
    with pytest.raises(TypeError, match=r"ToyModels takes discrete columns, but .*mass\(node, fit\)"):
        Daguerreotype(edges=TakesAll(), transform="none", loss="bic", max_iter=5).fit(X)


def test_an_estimator_as_an_object_is_saved_and_searched_over(toys, table, tmp_path):
    from toys.edges import ToyEdges

    from daguerreotype import Daguerreotype
    from daguerreotype.tune import default_space

    learner = Daguerreotype(edges=ToyEdges(0.2), transform="none", max_iter=5)
    assert default_space(learner) == {"edges.least": (0.01, 0.5, "log")}
    learner.fit(table).save(tmp_path / "model.npz")
    assert Daguerreotype.load(tmp_path / "model.npz").edges.least == 0.2


def test_a_toy_that_says_so_is_streamed(toys, table):
    from daguerreotype import Daguerreotype

    settings = {"edges": "toy", "transform": "toy", "loss": "bic", "max_iter": 10, "n_restarts": 0}
    whole, streamed = Daguerreotype(**settings).fit(table), Daguerreotype(**settings)
    streamed.fit_chunks(lambda: iter([table[:90], table[90:]]))
    np.testing.assert_allclose(np.asarray(streamed.weights_), np.asarray(whole.weights_), rtol=1e-9)


def test_a_file_of_a_toy_format_is_read_whole_and_in_chunks(toys, table, tmp_path):
    from daguerreotype import Daguerreotype
    from daguerreotype.data import read_table

    path = tmp_path / "table.toy"
    path.write_bytes(b"TOY1" + json.dumps(table.to_dict("list")).encode())
    pd.testing.assert_frame_equal(read_table(path), table)
    streamed = Daguerreotype(edges="bic", max_iter=5).fit_chunks(path)
    assert list(streamed.feature_names_in_) == list(table.columns)


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        ({"edges": "nonsense"}, "edges must be one of"),
        ({"operator": "nonsense"}, "operator must be"),
        ({"noise": "nonsense"}, "noise must be"),
        ({"transform": "nonsense"}, "transform must be"),
        ({"loss": "nonsense"}, "loss must be one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_messages_list_the_toy_among_what_is_known(toys, table, settings, listed):
    from daguerreotype import Daguerreotype

    with pytest.raises(ValueError, match=rf"{listed}.*'toy'.*'nonsense'"):
        Daguerreotype(**settings).fit(table)


def test_the_command_line_takes_the_toys(package, table, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    start = "import toys; from daguerreotype.cli.main import app; app()"
    options = ["--edges", "toy", "--operator", "toy", "--transform", "toy", "--quiet", "--json"]
    command = [sys.executable, "-c", start, "fit", str(tmp_path / "table.csv"), *options]
    environment = {"PYTHONPATH": f"{package}:{ROOT / 'src'}", "PATH": "", "HOME": str(tmp_path)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["transform"] == "toy"
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
