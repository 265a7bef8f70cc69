"""A table of all kinds whose edges are known, fitted in a given order."""

import numpy as np
import pandas as pd

from support.learners import make_learner

ORDER = ["dose", "city", "size", "visits", "grade", "smoker", "diet"]


def mixed_table(n=600, seed=0):
    """dose and city -> size -> grade; dose -> visits -> smoker; dose and smoker -> diet."""
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    city = rng.choice(["Bonn", "<Oslo>", "Rome"], n)
    size = dose**2 + pd.Series(city).map({"Bonn": 0.0, "<Oslo>": 1.5, "Rome": -1.5}) + 0.5 * rng.normal(size=n)
    visits = rng.poisson(np.exp(0.3 + 0.8 * dose))
    ranked = np.digitize(size + rng.logistic(size=n), [0.5, 2.5])
    smoker = rng.random(n) < 1 / (1 + np.exp(-1.2 * (visits - 1.5)))
    pull = np.column_stack([np.zeros(n), 2.0 * dose, 0.5 - 2.5 * smoker]) + rng.gumbel(size=(n, 3))
    return pd.DataFrame(
        {
            "dose": dose,
            "city": city,
            "size": size,
            "visits": visits,
            "grade": pd.Categorical.from_codes(ranked, ["low", "mid", "top"], ordered=True),
            "smoker": smoker,
            "diet": np.array(["fish", "meat", "plants"])[pull.argmax(axis=1)],
        }
    )


def fit_mixed(X, **settings):
    """The table's model in the order that made it."""
    init = [name for name in ORDER if name in X]
    return make_learner(operator="fixed", **({"start": init, "scales": "none"} | settings)).fit(X)
