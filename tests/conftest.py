import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
