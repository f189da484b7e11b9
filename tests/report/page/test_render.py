"""Pages as HTML: readable contrasts in light, in the dark and on paper, and a missing extra in one line."""

from __future__ import annotations

import hashlib
import re
import sys
from itertools import product

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases.files.read_release import ReleaseFiles
from dpqr.report.page.parts import Preview, ReportPage, file_hashes, first_rows, html, style, table_columns

TEXTS, GROUNDS = ("ink", "soft", "link", "warn", "good", "half"), ("page", "sheet")
SHAPES = ("fill", "second", "faint")


def palettes():
    """Colours by name: in light, in the dark, on paper."""
    roots = re.findall(r":root \{(.*?)\}", style(), re.S)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root)) for root in roots]


def luminance(color):
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """By WCAG 2.2."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark", "paper"])
def test_every_text_and_every_shape_can_be_seen(palette):
    low = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in product(TEXTS, GROUNDS)}
    assert {pair for pair, found in low.items() if found < 4.5} == set()
    assert contrast(palette["ink"], palette["warned"]) >= 4.5
    assert {pair for pair in product(SHAPES, GROUNDS) if contrast(palette[pair[0]], palette[pair[1]]) < 3} == set()


def test_every_colour_of_the_sheet_is_one_of_the_palettes():
    rules = re.sub(r":root \{.*?\}", "", style(), flags=re.S)
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules) == []
    assert set(re.findall(r"var\(--(\w+)\)", rules)) <= set(palettes()[0])
    assert [set(palette) for palette in palettes()[1:]] == [set(palettes()[0])] * 2


def test_phone_paper_and_the_dark_are_thought_of():
    text = html(ReportPage(title="t", subtitle="s", lead=(), sections=()))
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    for wanted in ("@media print", "prefers-color-scheme: dark", "max-width: 36rem", "overflow-x: auto"):
        assert wanted in text


@pytest.mark.parametrize("name", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_one_line_that_says_what_to_install(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageFault, match=r"^--html: .*pip install 'dpqr\[report\]'$"):
        html(ReportPage(title="t", subtitle="s", lead=(), sections=()))


# Published files as a report shows them.


@pytest.fixture
def files(tmp_path):
    (tmp_path / "release.json").write_text("{}")
    (tmp_path / "answers.csv").write_text('"query","sex","estimate"\n"a","F",1.5\n')
    parquet.write_table(pa.table({"sex": ["F", None, "M"], "age": [1, 2, 3]}), tmp_path / "synthetic.parquet")
    return ReleaseFiles(path=tmp_path, record={"files": ["answers.csv", "synthetic.parquet"]})


def test_the_first_rows_are_texts(files):
    assert first_rows(files, 2) == Preview(columns=("sex", "age"), rows=[("F", "1"), ("", "2")])


def test_a_release_without_synthetic_rows_has_none(files):
    assert first_rows(ReleaseFiles(path=files.path, record={"files": ["answers.csv"]}), 2) is None


def test_columns_of_every_table(files):
    assert table_columns(files) == {"answers.csv": ["query", "sex", "estimate"], "synthetic.parquet": ["sex", "age"]}


def test_every_file_is_hashed_and_the_record_too(files):
    found = file_hashes(files)
    assert list(found) == ["answers.csv", "release.json", "synthetic.parquet"]
    assert found["release.json"] == hashlib.sha256(b"{}").hexdigest()


@pytest.mark.parametrize("ask", [lambda files: first_rows(files, 1), table_columns, file_hashes])
def test_a_file_that_is_gone_is_named(files, ask):
    (files.path / "synthetic.parquet").unlink()
    with pytest.raises(DocumentError, match=r"synthetic\.parquet: cannot be read"):
        ask(files)
