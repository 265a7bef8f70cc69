"""All mass on the sorted order."""

import numpy as np

from daguerreotype.operators import OPERATORS, OperatorEntry, OrderDistribution


def sort(theta, tau):
    return OrderDistribution.of_order(np.argsort(theta, kind="stable"))


OPERATORS.register("toy", OperatorEntry(lambda: sort, "the sorted order"))
