import pytest

from dpqr.tables.codebooks.known import read_codebook


@pytest.fixture
def given(tmp_path):
    """Write a codebook and read it back."""

    def read(content, name="book", **more):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_codebook(str(path), **more)

    return read
