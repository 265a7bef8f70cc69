"""The picture in README: the Sachs network as it is learned, beside the consensus graph.

Run ``python examples/readme_picture.py`` to draw it anew; an argument names another file.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot as plt

from daguerreotype import Daguerreotype
from daguerreotype.datasets import load_sachs

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "sachs.png"


def draw(path: Path) -> None:
    sachs = load_sachs()
    model = Daguerreotype().fit(sachs.X)
    figure, (graph, order) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1.7, 1), layout="constrained")
    model.plot(truth=sachs.adjacency, ax=graph)
    graph.set_title("learned graph against the consensus graph", fontsize=11)
    model.plot("order", ax=order)
    order.set_title("learned distribution over orders", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
