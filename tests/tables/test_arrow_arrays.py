"""Arrow arrays from NumPy's and back, compared with pyarrow's own conversions."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from dpqr.tables.cell_values import is_text, mask, not_null, numpy_values, text_array


def test_types_of_texts() -> None:
    assert all(map(is_text, (pa.string(), pa.large_string(), pa.string_view())))
    assert not any(map(is_text, (pa.binary(), pa.int8(), pa.dictionary(pa.int8(), pa.string()))))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_masks(count) -> None:
    chosen = np.random.default_rng(count).random(count) < 0.5
    assert mask(chosen).to_pylist() == chosen.tolist()
    assert pa.array(np.arange(count)).filter(mask(chosen)).to_pylist() == np.flatnonzero(chosen).tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("texts", [(), ("",), ("a", "", "é\0", "x" * 99)])
def test_texts(kind, texts) -> None:
    made = text_array(texts, kind)
    made.validate(full=True)
    assert made.equals(pa.array(texts, kind))


NUMBERS = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("kind", [pa.bool_(), *NUMBERS], ids=str)
@pytest.mark.parametrize("cells", [[], [1], [None], [1, 0, None, 1, None, 0, 1, 1, 0, 1, None]], ids=len)
def test_values(kind, cells) -> None:
    bits = pa.array([None if cell is None else bool(cell) for cell in cells], pa.bool_())
    array = bits if kind == pa.bool_() else bits.cast(pa.int8()).cast(kind)
    for part in (array, array[3:], array[:2]):
        found, whole = numpy_values(part, 1), part.to_pylist()
        assert found.tolist() == [1 if cell is None else cell for cell in whole]
        assert not_null(part).tolist() == [cell is not None for cell in whole]
        if not part.null_count:
            assert found.dtype == kind.to_pandas_dtype()


def test_none_of_it_imports_pandas() -> None:
    script = """
import sys, numpy, pyarrow
from dpqr.tables.cell_values import mask, numpy_values, not_null, text_array
texts = text_array(("a", "b"), pyarrow.string()).filter(mask(numpy.array([True, False])))
found = numpy_values(texts.is_valid()), not_null(texts), texts.to_pylist()
assert "pandas" not in sys.modules
pyarrow.array([1])
assert "pandas" in sys.modules, "the reason for this module is gone"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
