import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a file, and tells where it is."""

    def written(text, name="file.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written
