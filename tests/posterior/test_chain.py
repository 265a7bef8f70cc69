import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.posterior import sample
from daguerreotype.posterior.chain import run_chain
from daguerreotype.posterior.parent_sets import make_lists
from daguerreotype.posterior.sample import BLOCKS, Chains
from support.posteriors import all_dags, enumerate_posterior, reachability


def test_there_are_as_many_dags_as_robinson_counted():
    assert [len(all_dags(d)) for d in range(1, 6)] == [1, 3, 25, 543, 29281]
    assert len(np.unique(all_dags(4).reshape(543, -1), axis=0)) == 543


def draw_losses(rng, d, spread, share=1.0):
    """Random losses of some parent sets of every node, the empty one always among them."""
    losses = []
    for node in range(d):
        masks = [mask for mask in range(2**d) if not (mask >> node) & 1]
        losses.append({m: spread * rng.random() for m in masks if m == 0 or rng.random() < share})
    return losses


def as_lists(losses):
    starts, bits, values = [0], [], []
    for of in losses:
        for mask, loss in sorted(of.items(), key=lambda item: item[1]):
            bits.append([mask])
            values.append(loss)
        starts.append(len(bits))
    return make_lists(np.array(starts), np.array(bits, dtype=np.int64), np.array(values))


def empty_graph(lists):
    return np.array(
        [
            int(np.flatnonzero(lists.bits[a:b, 0] == 0)[0] + a)
            for a, b in zip(lists.starts, lists.starts[1:], strict=False)
        ]
    )


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(2, 5),
    spread=st.sampled_from([0.0, 2.0, 8.0]),
    share=st.sampled_from([0.3, 1.0]),
)
def test_chains_find_the_probabilities_of_all_dags_counted_one_by_one(seed, d, spread, share):
    losses = draw_losses(np.random.default_rng(seed), d, spread, share)
    lists = as_lists(losses)
    chains = Chains(lists, np.tile(empty_graph(lists), (2, 1)), [seed, seed + 1], 20_000)
    chains.run()
    posterior = chains.posterior()
    edges, ancestors = enumerate_posterior(losses)
    np.testing.assert_allclose(posterior.edges.mean(axis=0), edges, atol=0.06)  # of chains alone
    np.testing.assert_allclose(posterior.probabilities, edges, atol=0.02)
    np.testing.assert_allclose(posterior.ancestors, ancestors, atol=0.05)
    assert not any(np.diag(reachability(graph)).any() for graph in posterior.graphs)
    assert posterior.weights.sum() <= 1 + 1e-9


@pytest.mark.parametrize("seed", [1, 2])
def test_long_chains_come_as_close_to_the_probabilities_as_their_length_allows(seed):
    # A gain of a kernel that is off by a tenth moves a probability by 0.006 and more.
    losses = draw_losses(np.random.default_rng(seed), 4, 6.0)
    lists = as_lists(losses)
    chains = Chains(lists, np.tile(empty_graph(lists), (2, 1)), [1, 2], 100_000)
    chains.run()
    np.testing.assert_allclose(chains.edges.mean(axis=(0, 1)), enumerate_posterior(losses)[0], atol=0.0025)


def test_errors_and_the_effective_size_are_those_of_repeated_runs():
    losses = draw_losses(np.random.default_rng(3), 4, 6.0)
    lists = as_lists(losses)
    runs = []
    for seed in range(20):
        chains = Chains(lists, empty_graph(lists)[None], [seed], 2000)
        chains.run()
        runs.append(chains.posterior())
    spread = np.std([run.edges[0] for run in runs], axis=0)
    estimated = np.mean([run.errors for run in runs], axis=0)
    unsure = spread > 0.003
    assert unsure.any()
    ratio = estimated[unsure] / spread[unsure]
    assert 0.6 < np.median(ratio) < 1.6
    assert 100 < np.median([run.effective_sample_size for run in runs]) <= 2000


def make_chains(n_sweeps=400):
    lists = as_lists(draw_losses(np.random.default_rng(0), 4, 6.0))
    return Chains(lists, np.tile(empty_graph(lists), (2, 1)), [1, 2], n_sweeps)


def same(first, second):
    np.testing.assert_array_equal(first.edges, second.edges)
    np.testing.assert_array_equal(first.ancestors, second.ancestors)
    np.testing.assert_array_equal(first.graphs, second.graphs)
    np.testing.assert_array_equal(first.weights, second.weights)


def test_threads_change_nothing():
    alone, together = make_chains(), make_chains()
    alone.run(1)
    together.run(2)
    same(alone.posterior(), together.posterior())


@pytest.mark.parametrize("after", [1, BLOCKS - 1])
def test_a_restored_state_goes_on_as_if_nothing_had_happened(after):
    class StopError(Exception):
        pass

    whole, first, second = make_chains(), make_chains(), make_chains()
    whole.run()

    def stop():
        if first.done == after:
            raise StopError

    with pytest.raises(StopError):
        first.run(after=stop)
    assert first.share == after / BLOCKS
    second.restore({name: value.copy() for name, value in first.arrays().items()})
    second.run()
    same(second.posterior(), whole.posterior())


def test_sets_of_more_than_64_nodes_are_told_apart():
    d = 130  # a line of nodes, each with its neighbour as parent or not
    starts, bits, losses = [0], [], []
    for node in range(d):
        for other in ([], [node - 1] if node else []):
            if other or not bits or starts[-1] == len(bits):
                row = np.zeros(d // 64 + 1, dtype=np.int64)
                for each in other:
                    row[each >> 6] |= np.int64(1) << np.int64(each & 63)
                bits.append(row)
                losses.append(1.0 if other else 0.0)
        starts.append(len(bits))
    lists = make_lists(np.array(starts), np.array(bits), np.array(losses))
    chains = Chains(lists, lists.starts[None, :-1], [0], 400)
    chains.run()
    probabilities = chains.posterior().probabilities
    edge = np.exp(-1) / (1 + np.exp(-1))
    np.testing.assert_allclose(np.diag(probabilities, 1), edge, atol=1e-9)  # given the rest, each is known exactly
    assert probabilities.sum() == pytest.approx((d - 1) * edge)


def test_a_block_in_pieces_after_which_python_has_its_turn_is_the_block_at_once(monkeypatch, rng):
    lists = as_lists(draw_losses(rng, 4, 4.0))
    found, asked = [], []

    def counting(lists, state, scratch, n_sweeps, every, kept):
        asked.append(n_sweeps)
        return run_chain(lists, state, scratch, n_sweeps, every, kept)

    monkeypatch.setattr(sample, "run_chain", counting)
    for at_once, most in ((1, 1), (12, 3), (10**9, 20)):
        monkeypatch.setattr(sample, "TURNS_AT_ONCE", at_once)
        asked.clear()
        chains = Chains(lists, np.tile(empty_graph(lists), (2, 1)), [1, 2], 400)
        chains.run()
        assert (sum(asked), max(asked)) == (800, most)
        found.append((chains.edges, chains.kept.copy(), [state.ancestors.copy() for state in chains.states]))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
