"""Grow-shrink search in plain Python, with a fit for every step: an oracle of the tree search."""


def grow_shrink(cost, owners, stops, *, required=(), room=float("inf"), nonlinear=(), start=None, shrinks=True):
    """Columns used by each parent after growing and shrinking by the best step while one lowers the cost.

    Parameters
    ----------
    cost : callable
        Of a dict from parents to how many columns they use.
    owners : sequence of int
        Who may be a parent.
    stops : sequence of sequences of int
        With how many columns an owner may be one, ascending.
    required : sequence of int
        Who is one from the start, by a line, and stays.
    room : float
        Columns up to which a step may add more than a line.
    nonlinear : collection of int
        Owners that are more than lines by their first column.
    start : dict, optional
        Columns used by parents from the start, in place of those required; without ``owners`` they only shrink.
    shrinks : bool
        Whether to shrink what has grown.
    """

    def larger(parents):
        spent = sum(parents.values())
        for owner in map(int, owners):
            used = parents.get(owner, 0)
            for size in map(int, stops[owner]):
                line = size == 1 and owner not in nonlinear
                if size > used and (line or spent + size - used <= room):
                    yield {**parents, owner: size}

    def smaller(parents):
        for owner in sorted(parents):
            for size in (0, *map(int, stops[owner])):
                if size < parents[owner] and (size > 0 or owner not in required):
                    yield used_by({**parents, owner: size})

    parents = start or {int(owner): int(stops[owner][0]) for owner in required}
    for steps in (larger, smaller) if shrinks else (larger,):
        while True:
            best = min(steps(parents), key=cost, default=parents)
            if cost(best) >= cost(parents):
                break
            parents = best
    return parents


def used_by(sizes):
    """Those that use any column."""
    return {owner: size for owner, size in sizes.items() if size}
