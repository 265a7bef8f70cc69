"""Simulated gene networks of SynTReN (Van den Bulcke et al. 2006), found on disk or fetched."""

import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.typing import FloatArray
from daguerreotype.datasets.dataset import Dataset

if TYPE_CHECKING:
    from pooch import Pooch

BASE_URL = "https://raw.githubusercontent.com/vzantedeschi/DAGuerreotype/main/daguerreo/data/"
VARIABLE = "DAGUERREOTYPE_DATA"
NETWORKS = range(1, 11)

DESCRIPTION = (
    "Network {network} of ten: simulated expression of 20 genes in 500 samples. SynTReN takes subnetworks of "
    "known transcriptional networks and simulates them with Michaelis-Menten and Hill kinetics. Levels are "
    "positive. The published files name no genes; G1 to G20 number the columns."
)
SOURCE = (
    "T. Van den Bulcke et al.: SynTReN: a generator of synthetic gene expression data for design and "
    "analysis of structure learning algorithms. BMC Bioinformatics 7:43, 2006. Data of S. Lachapelle, "
    "P. Brouillard, T. Deleu, S. Lacoste-Julien: Gradient-based neural DAG learning. ICLR, 2020. "
    f"Files of {BASE_URL}syntren"
)


@overload
def load_syntren(
    network: None = None, *, data_home: str | os.PathLike[str] | None = None
) -> tuple[Dataset, ...]: ...


@overload
def load_syntren(network: int, *, data_home: str | os.PathLike[str] | None = None) -> Dataset: ...


def load_syntren(
    network: int | None = None, *, data_home: str | os.PathLike[str] | None = None
) -> Dataset | tuple[Dataset, ...]:
    """Gene networks simulated by SynTReN: 500 rows, 20 columns and 19 to 34 edges each.

    The files are kept in ``data_home``, and downloaded where they are not there yet. Wherever a file comes
    from, its SHA-256 is that of the published one.

    Parameters
    ----------
    network : int or None
        Which network, from 1 to 10; None for all ten, over which papers average.
    data_home : path or None
        Folder with ``syntren/data1.npy``, ``syntren/DAG1.npy`` and so on beneath. By default the one that the
        environment variable ``DAGUERREOTYPE_DATA`` names, or else the user's cache folder. Give one that has them
        on a machine without network.

    Returns
    -------
    Dataset, or tuple of ten of them

    Examples
    --------
    >>> from daguerreotype.datasets import load_syntren
    >>> load_syntren(1)  # doctest: +SKIP
    Dataset('syntren-1': 500 rows, 20 columns, 24 edges)
    """
    if network is not None and network not in NETWORKS:
        raise ValueError(f"network={network!r} is not a SynTReN network: give 1 to 10, or None for all ten.")
    store = _store(data_home)
    if network is None:
        return tuple(_load(k, store) for k in NETWORKS)
    return _load(int(network), store)


def _load(network: int, store: "Pooch") -> Dataset:
    """Record of one network."""
    table = _read(f"syntren/data{network}.npy", store)  # (n, d)
    edges = _read(f"syntren/DAG{network}.npy", store).astype(np.int64)  # (d, d)
    genes = [f"G{gene}" for gene in range(1, table.shape[1] + 1)]
    return Dataset(
        f"syntren-{network}",
        pd.DataFrame(table, columns=genes),
        pd.DataFrame(edges, index=genes, columns=genes),
        DESCRIPTION.format(network=network),
        SOURCE,
    )


def _store(data_home: str | os.PathLike[str] | None) -> "Pooch":
    """The folder of the files, which downloads what it lacks."""
    import pooch

    named = data_home or os.environ.get(VARIABLE)
    home = check_path(named, "data_home").expanduser() if named else Path(pooch.os_cache("daguerreotype"))
    return pooch.create(home, BASE_URL, registry={name: f"sha256:{sha}" for name, sha in _checksums().items()})


def _read(name: str, store: "Pooch") -> FloatArray:
    """Array of the published file ``name``, downloaded if it is not there or not whole."""
    by_hand = (
        f"Get the file by other means and put it at {str(store.abspath / name)!r}; or put {name} into a folder of "
        f"your own, and pass that folder as data_home or set the environment variable {VARIABLE} to it."
    )
    try:
        # pooch loads into a temporary file and gives it its name only when its SHA-256 is right
        array: FloatArray = np.load(store.fetch(name), allow_pickle=False)
    except OSError as error:
        raise ConnectionError(f"cannot download {store.base_url}{name}: {error}. {by_hand}") from error
    except ValueError as error:
        raise ValueError(f"{store.base_url}{name} is not the published file: {error} {by_hand}") from error
    return array


@cache
def _checksums() -> dict[str, str]:
    """SHA-256 of each published file by its name, from the packaged list in the format of sha256sum."""
    listing = resources.files("daguerreotype.datasets").joinpath("data", "syntren.sha256").read_text()
    return {name: digest for digest, name in map(str.split, listing.splitlines())}
