"""Files that somebody altered on purpose: they load, or are refused by one error, whatever they say."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from daguerreotype.training import Bilevel

JUNK = [None, True, -1, 0, 10**12, 1.5, float("nan"), "", "x", [], [1], {}, {"array": "header"}, {"list": [1]}]
NUMBERS = [-1, 0, 3, 10**9, -(2**62), np.nan, np.inf, -1e300]
WAYS = ["number", "all", "cut", "empty", "longer", "flat", "deeper", "kind", "swap", "gone"]
PROFILE = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def draw_rows(n=60):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    b = a**2 + 0.2 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": np.where(a + rng.normal(size=n) > 0, "yes", "no")})


@pytest.fixture(scope="module", params=["gam", "sparsemap"])
def parts(request, tmp_path_factory):
    """Arrays and header of a saved learner, of several kinds."""
    X = draw_rows() if request.param == "gam" else draw_rows()[["a", "b"]]
    operator, edges = ("sparsemap", "bic") if request.param == "sparsemap" else ("sparsemax", "gam")
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    Daguerreotype(
        edges=edges, scales="none", posterior=5, operator=operator, training=Bilevel(n_restarts=0, max_iter=5)
    ).fit(X).save(path)
    with np.load(io.BytesIO(path.read_bytes())) as file:
        arrays = dict(file)
    return arrays, json.loads(arrays.pop("header").tobytes()), X


def try_out(arrays, header, X, path):
    """Load what was put together and ask it for everything, or see the one error."""
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = Daguerreotype.load(path)
        except ValueError as error:
            assert "altered.npz " in str(error)  # noqa: PT017
            return
        assert np.asarray(model.adjacency_matrix_).shape == (X.shape[1], X.shape[1])
        assert model.causal_graph_.number_of_nodes() == X.shape[1]
        model.order_distribution_.vjp(np.ones(len(model.order_distribution_)))


def refused(arrays, header, path):
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **arrays)
    with pytest.raises(ValueError, match=r"altered\.npz is damaged"):
        Daguerreotype.load(path)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


# What would lead to an index out of range in a compiled kernel, or to a graph with a cycle.
NEVER = {
    "theta": [put(0, np.nan), put(0, np.inf)],
    "order": [put(0, 1), put(0, -1), lambda order: order[:-1]],
    "fits.parents": [lambda parents: parents + 1, lambda parents: parents - 9],
    "fits.weights": [put(0, np.nan), lambda weights: weights[:-1]],
    "distribution.probs": [put(0, -0.5), put(0, np.nan), lambda probs: probs[:0], lambda probs: probs[:, None]],
    "distribution.ranks": [
        put((0, 0), 99),
        put((0, 0), -1),
        lambda ranks: ranks[:, :-1],
        lambda ranks: ranks[:-1],
    ],
    "history.theta": [lambda theta: theta[:-1]],
    "distribution.pullback.tree.parents": [put(1, 1), put(1, -1), put(1, 10**6)],
    "distribution.pullback.tree.swaps": [put((1, 0), -1), put((1, 1), 99), lambda swaps: swaps[:, :1]],
    "distribution.pullback.tree.losses": [lambda losses: losses[:-1]],
    "distribution.pullback.factor": [lambda factor: factor[:1, :1], lambda factor: factor[:-1]],
}


def test_what_kernels_and_graphs_would_suffer_from_is_always_refused(parts, tmp_path):
    arrays, header, _ = parts
    names = {name: f"result.training.{name}" for name in NEVER}
    there = [name for name in NEVER if names[name] in arrays and arrays[names[name]].size]
    assert {name.rpartition(".")[2] for name in there} >= {"ranks", "order", "probs"}
    assert any("pullback" in name for name in there)
    for name in there:
        for change in NEVER[name]:
            refused(arrays | {names[name]: change(arrays[names[name]].copy())}, header, tmp_path / "altered.npz")


@PROFILE
@given(data=st.data())
def test_an_altered_array_is_refused_or_harmless(parts, tmp_path, data):
    arrays, header, X = parts
    arrays = dict(arrays)
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    way = data.draw(st.sampled_from(WAYS))
    if way == "number" and array.size:
        array = array.astype(np.float64).ravel()
        array[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(NUMBERS))
        with np.errstate(invalid="ignore"):
            array = array.reshape(arrays[name].shape).astype(arrays[name].dtype)
    elif way == "all":
        array = np.full(array.shape, data.draw(st.sampled_from([0, 1, 2])), array.dtype)
    elif way == "empty":
        array = np.atleast_1d(array)[:0]
    elif way in ("cut", "longer"):
        array = array[:-1] if way == "cut" and array.ndim else np.concatenate([np.atleast_1d(array)] * 2)
    elif way in ("flat", "deeper"):
        array = array.ravel() if way == "flat" else array[..., None]
    elif way == "kind":
        with np.errstate(invalid="ignore"):
            array = array.astype(data.draw(st.sampled_from([np.bool_, np.int8, np.uint64, np.float32])))
    elif way == "swap":
        array = arrays[data.draw(st.sampled_from(sorted(arrays)))]
    arrays[name] = array
    if way == "gone":
        del arrays[name]
    try_out(arrays, header, X, tmp_path / "altered.npz")


def places(value, path=()):
    """Where every value of the header stands."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


@PROFILE
@given(data=st.data())
def test_an_altered_header_is_refused_or_harmless(parts, tmp_path, data):
    arrays, header, X = parts
    header = json.loads(json.dumps(header))
    *before, last = data.draw(st.sampled_from([path for path in places(header) if path]))
    inside = header
    for key in before:
        inside = inside[key]
    if data.draw(st.booleans()):
        inside[last] = data.draw(st.sampled_from(JUNK))
    else:
        del inside[last]
    try_out(arrays, header, X, tmp_path / "altered.npz")
