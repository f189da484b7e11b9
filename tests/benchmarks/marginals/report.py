"""Report: the table, the CSV file and the plot of a contest."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from methods import Run

COLUMNS = (
    "workload",
    "delta",
    "eps",
    "method",
    "runs",
    "l1_over_n",
    "standard_error",
    "cpu_s",
    "memory_mb",
    "own_mb",
    "algorithm_mb",
)
HEAD = ("delta", "eps", "method", "runs", "L1 / n", "std err", "CPU s", "MB", "own MB", "alg. MB")
COLOURS = ("#1b6ca8", "#c0392b", "#27874b", "#8e44ad", "#b8860b", "#555555")
WIDTH, HEIGHT, LEFT, TOP = 640, 400, 70, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One cell of the contest: medians of CPU seconds and memory, the mean error and its standard error."""

    workload: str
    delta: str
    eps: str
    method: str
    runs: Sequence[Run]

    @property
    def error(self) -> float:
        return statistics.mean(run.error for run in self.runs)

    @property
    def spread(self) -> float:
        if len(self.runs) < 2:
            return float("nan")
        return statistics.stdev(run.error for run in self.runs) / len(self.runs) ** 0.5

    @property
    def cpu(self) -> float:
        return statistics.median(run.cpu for run in self.runs)

    @property
    def memory(self) -> float:
        return _median(run.memory for run in self.runs)

    @property
    def own(self) -> float:
        return _median(run.own for run in self.runs)

    @property
    def algorithm(self) -> float:
        return _median(run.algorithm for run in self.runs)

    def fields(self) -> tuple[str, ...]:
        figures = (f"{self.error:.6f}", f"{self.spread:.6f}", f"{self.cpu:.3f}", f"{self.memory:.1f}")
        named = (self.workload, self.delta, self.eps, self.method, str(len(self.runs)))
        return (*named, *figures, f"{self.own:.1f}", f"{self.algorithm:.1f}")


def _median(figures: Iterable[float | None]) -> float:
    told = [figure for figure in figures if figure is not None]
    return statistics.median(told) if told else float("nan")


def table(lines: Iterable[Line]) -> Iterable[str]:
    """Fixed columns; ratios are of a method's figures to those of dpqr at the same eps and delta."""
    told = list(lines)
    own = {(line.delta, line.eps): line for line in told if line.method == "dpqr"}
    yield " ".join(["{:>6} {:>5} {:>7} {:>4} {:>9} {:>9}".format(*HEAD), *(f"{name:>8}" for name in HEAD[6:])])
    for line in told:
        _, delta, eps, method, runs, error, spread, *costs = line.fields()
        named = f"{delta:>6} {eps:>5} {method:>7} {runs:>4} {error:>9} {spread:>9}"
        row = " ".join([named, *(f"{cost:>8}" for cost in costs)])
        ours = own.get((delta, eps))
        yield row if ours is None or ours is line else f"{row}   {_ratios(ours, line)}"


def _ratios(ours: Line, line: Line) -> str:
    error, cpu, memory = ours.error / line.error, ours.cpu / line.cpu, ours.memory / line.memory
    apart = f"own MB {ours.own / line.own:.2f}, algorithm's MB {ours.algorithm / line.algorithm:.2f}"
    return f"dpqr's share: error {error:.3f}, CPU {cpu:.3f}, MB {memory:.2f}, {apart}"


def write_csv(path: Path, lines: Iterable[Line]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(line.fields() for line in lines)


def read_csv(path: Path) -> list[Line]:
    """Lines of an earlier contest, so that a new one can be set beside them; their runs are stood for by the mean."""
    with path.open(newline="") as file:
        return [_remembered(row) for row in csv.DictReader(file)]


def _remembered(row: dict[str, str]) -> Line:
    runs, error, spread = int(row["runs"]), float(row["l1_over_n"]), float(row["standard_error"])
    deviation = 0.0 if runs < 2 else spread * (runs * (runs - 1) / 2) ** 0.5
    errors = [error] * runs
    if runs > 1:
        errors[:2] = [error - deviation, error + deviation]
    costs = ("cpu_s", "memory_mb", "own_mb", "algorithm_mb")
    cpu, memory, own, algorithm = (float(row.get(name) or "nan") for name in costs)
    told = [Run(error=each, cpu=cpu, memory=memory, own=own, algorithm=algorithm) for each in errors]
    return Line(workload=row["workload"], delta=row["delta"], eps=row["eps"], method=row["method"], runs=told)


def write_plot(path: Path, lines: Sequence[Line]) -> None:
    """Error against eps, both logarithmic, one line a method (and delta): a plain SVG."""
    from math import log10

    series: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        series.setdefault(f"{line.method}, delta {line.delta}", []).append((log10(float(line.eps)), log10(line.error)))
    points = [point for one in series.values() for point in one]
    (left, right), (low, high) = (_range(axis) for axis in zip(*points, strict=True))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across, up = (point[0] - left) / (right - left), (point[1] - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - 170), HEIGHT - 50 - up * (HEIGHT - 50 - TOP)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">']
    parts += [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *_ticks(at, (left, right), (low, high))]
    for place, (name, found) in enumerate(series.items()):
        colour, drawn = COLOURS[place % len(COLOURS)], [at(point) for point in sorted(found)]
        path_points = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline points="{path_points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in drawn]
        parts.append(_text(WIDTH - 155, TOP + 18 * place, name, colour))
    parts += [_text(LEFT, 16, f"{lines[0].workload}: mean L1 error over n, by eps"), "</svg>"]
    path.write_text("\n".join(parts) + "\n")


def _range(values: Iterable[float]) -> tuple[float, float]:
    """With room on both sides, so that one point alone has a range too."""
    told = list(values)
    return min(told) - 0.15, max(told) + 0.15


def _ticks(at, across: tuple[float, float], up: tuple[float, float]) -> Iterable[str]:  # type: ignore[no-untyped-def]
    from math import ceil, floor

    for power in range(ceil(across[0]), floor(across[1]) + 1):
        x, y = at((power, up[0]))
        yield _text(x - 8, y + 18, f"{10.0**power:g}")
    for power in range(ceil(up[0]), floor(up[1]) + 1):
        x, y = at((across[0], power))
        yield f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - 165}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(8, y + 4, f"{10.0**power:g}")


def _text(x: float, y: float, words: str, colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" fill="{colour}">{words}</text>'
