"""Missing values: draws of them from fitted mechanisms, rounds of learning from these, and imputation."""
