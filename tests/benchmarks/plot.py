"""A bar chart as SVG, by hand: ratios on a logarithmic scale, with a line at 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH = 16, 300, 420


def bars(labels: Sequence[str], ratios: Sequence[float]) -> str:
    """One bar a label, from 1 to its ratio; below 1 to the left."""
    reach = max(abs(math.log2(ratio)) for ratio in ratios) or 1.0
    middle = LEFT + WIDTH / 2
    lines = []
    for row, (label, ratio) in enumerate(zip(labels, ratios, strict=True)):
        end = middle + math.log2(ratio) / reach * WIDTH / 2
        top = ROW * row + 4
        colour = "#2b6cb0" if ratio <= 1 else "#c05621"
        lines.append(f'<text x="{LEFT - 8}" y="{top + 10}" text-anchor="end">{escape(label)}</text>')
        lines.append(
            f'<rect x="{min(end, middle):.1f}" y="{top}" width="{abs(end - middle):.1f}" height="12" fill="{colour}"/>'
        )
        lines.append(f'<text x="{LEFT + WIDTH + 8}" y="{top + 10}">{ratio:.2f}</text>')
    height = ROW * len(labels) + 8
    axis = f'<line x1="{middle}" y1="0" x2="{middle}" y2="{height}" stroke="#333"/>'
    size = f'width="{LEFT + WIDTH + 60}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    return "\n".join([head, *lines, axis, "</svg>"]) + "\n"
