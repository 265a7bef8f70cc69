"""The price of a straight line, learned from the table: in rounds, by the share of the edges that bend."""

from collections.abc import Callable

from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.base import LocalModels, PricesLines, offered
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.refine import refine_order

ROUNDS = 3
SETTLED = 0.05  # change of the share of bent edges that asks for no further round


def settle_price(
    scores: OrderScores, order: IntArray, again: Callable[[LocalModels], OrderScores], refine: bool = False
) -> tuple[OrderScores, IntArray]:
    """Scores with the price of lines that belongs to the edges they find, and the order, refined meanwhile.

    From the price that the scores have: find the edges of the order, price lines by the share of edges that bend,
    refine the order under that price, if asked; until the share settles. An interrupt is raised: prices that have
    not settled are of no use.
    """
    models = offered(scores.models, PricesLines)
    if models is None or not models.learns_bent_share:
        return scores, order
    for _ in range(ROUNDS):
        share = models.share_of_bends(scores.fits_of(order))
        if abs(share - models.bent_share) < SETTLED:
            break
        repriced = models.with_bent_share(share)
        if repriced is None:
            break
        models, scores = repriced, again(repriced)
        if refine:
            order, _, interrupted = refine_order(order, scores)
            if interrupted:
                raise KeyboardInterrupt
    return scores, order
