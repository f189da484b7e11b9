"""Pages as HTML: readable contrasts in light, in the dark and on paper, and a missing extra in one line."""

from __future__ import annotations

import re
import sys
from itertools import product

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.report.page.parts import ReportPage, html, style

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
