import pytest


@pytest.fixture
def data(table, tmp_path):
    """The file of a test's own table."""
    table.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"
