"""Simulated gene networks of SynTReN (Van den Bulcke et al. 2006), found on disk or fetched."""

import io
import os
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import overload

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_path
from daguerreotype._lib.typing import FloatArray
from daguerreotype.datasets.dataset import Dataset

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

    The files are looked for in ``data_home``, in the folder that the environment variable
    ``DAGUERREOTYPE_DATA`` names and in the user's cache folder, in this order; those found nowhere are
    downloaded into the cache. Wherever a file comes from, its SHA-256 must be that of the published one.

    Parameters
    ----------
    network : int or None
        Which network, from 1 to 10; None for all ten, over which papers average.
    data_home : path or None
        Folder with ``syntren/data1.npy``, ``syntren/DAG1.npy`` and so on beneath; nothing is written to it.
        Give it, or set ``DAGUERREOTYPE_DATA``, on a machine without network.

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
    folders = _folders(data_home)
    if network is None:
        return tuple(_load(k, folders) for k in NETWORKS)
    return _load(int(network), folders)


def _load(network: int, folders: Sequence[Path]) -> Dataset:
    """Record of one network."""
    table = _read(f"syntren/data{network}.npy", folders)  # (n, d)
    edges = _read(f"syntren/DAG{network}.npy", folders).astype(np.int64)  # (d, d)
    genes = [f"G{gene}" for gene in range(1, table.shape[1] + 1)]
    return Dataset(
        f"syntren-{network}",
        pd.DataFrame(table, columns=genes),
        pd.DataFrame(edges, index=genes, columns=genes),
        DESCRIPTION.format(network=network),
        SOURCE,
    )


def _folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Folders that the user named, first choice first."""
    named = {"data_home": data_home, f"the environment variable {VARIABLE}": os.environ.get(VARIABLE) or None}
    given = {origin: folder for origin, folder in named.items() if folder is not None}
    folders = {origin: check_path(folder, origin).expanduser() for origin, folder in given.items()}
    for origin, folder in folders.items():
        if not folder.is_dir():
            raise ValueError(
                f"{origin} names {str(folder)!r}, which is not a folder. Give the folder that has "
                "syntren/data1.npy, syntren/DAG1.npy and so on beneath it, or none to have them downloaded."
            )
    return list(folders.values())


def _read(name: str, folders: Sequence[Path]) -> FloatArray:
    """Array of the published file ``name``, from the first folder that has it or else fetched."""
    paths = (folder / name for folder in folders if (folder / name).is_file())
    path = next(paths, None) or _fetch(name, base_url=BASE_URL)
    content = path.read_bytes()
    digest, published = sha256(content).hexdigest(), _checksums()[name]
    if digest != published:
        raise ValueError(
            f"{str(path)!r} is not the published file: its SHA-256 is {digest}, expected {published}. "
            f"Replace it by {BASE_URL}{name}, or remove it to have it downloaded."
        )
    array: FloatArray = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def _fetch(name: str, *, base_url: str) -> Path:
    """Path of ``name`` in the user's cache folder, downloaded if it is not there or not whole."""
    import pooch

    home = Path(pooch.os_cache("daguerreotype"))
    store = pooch.create(home, base_url, registry={name: f"sha256:{_checksums()[name]}"})
    by_hand = (
        f"Get the file by other means and put it at {str(home / name)!r}; or put {name} into a folder of "
        f"your own, and pass that folder as data_home or set the environment variable {VARIABLE} to it."
    )
    try:
        # pooch loads into a temporary file and gives it its name only when its SHA-256 is right
        return Path(store.fetch(name))
    except OSError as error:
        raise ConnectionError(f"cannot download {base_url}{name}: {error}. {by_hand}") from error
    except ValueError as error:
        raise ValueError(f"{base_url}{name} is not the published file: {error} {by_hand}") from error


@cache
def _checksums() -> dict[str, str]:
    """SHA-256 of each published file by its name, from the packaged list in the format of sha256sum."""
    listing = resources.files("daguerreotype.datasets").joinpath("data", "syntren.sha256").read_text()
    return {name: digest for digest, name in map(str.split, listing.splitlines())}
