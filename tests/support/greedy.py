"""Grow-shrink search in plain Python, with a fit for every step: an oracle of the tree search."""


def grow_shrink(cost, owners, lines, widths):
    """Columns used by each parent after growing and shrinking by the best step while one lowers the cost.

    Parameters
    ----------
    cost : callable
        Of a dict from parents to how many columns they use.
    owners : sequence of int
        Who may be a parent.
    lines, widths : sequence of int
        With how many columns each may be one at least, and at most.
    """
    parents = {}
    while True:
        steps = [
            {**parents, owner: used}
            for owner in owners
            for used in _more(parents.get(owner, 0), owner, lines, widths)
        ]
        best = min(steps, key=cost, default=parents)
        if not steps or cost(best) >= cost(parents):
            break
        parents = best
    while True:
        steps = [{other: used for other, used in parents.items() if other != owner} for owner in parents]
        steps += [{**parents, owner: lines[owner]} for owner in parents if parents[owner] > lines[owner]]
        best = min(steps, key=cost, default=parents)
        if not steps or cost(best) >= cost(parents):
            return parents
        parents = best


def _more(used, owner, lines, widths):
    """With how many columns an owner can be a parent after a step."""
    if used == 0:
        return sorted({int(lines[owner]), int(widths[owner])})
    return [int(widths[owner])] if used < widths[owner] else []
