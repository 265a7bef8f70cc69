from pathlib import Path

import pytest

# benchmark files may lie in a folder beside the checkout; they are not part of the repository
SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip("no benchmark data beside the checkout")
    return SHARED
