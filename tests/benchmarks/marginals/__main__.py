"""dpqr beside AIM, MST, MWEM+PGM and plain noise: same table, workload, eps, delta, neighbours (add-remove), runs.

python tests/benchmarks/marginals --data adult-coded.csv --workload W-small.json [--eps 0.1 1 10] [--delta 1e-9]
    [--runs 10] [--methods dpqr plain aim mst mwem] [--peers PYTHON] [--beside EARLIER.csv] [--out FOLDER] [-- more]

Without --data a made-up table is taken. The workload file has `domain` (sizes of the columns of codes) and `marginals`
(lists of columns), or `queries` in the product's own form. Options after -- go to `dpqr release`. The peers' Python
is that of an environment with `pip install dpmm` (0.1.9: AIM and MST on NumPy); without it they are left out.

Figures: mean over the marginals of the L1 distance from the true counts, over the true n (the table is public); the
standard error over runs; medians of CPU seconds after imports and of peak memory above that after imports, each run
in a process of its own with one thread. All figures but those of plain noise include reading the same CSV file and
writing the answers; "alg. MB" is the peak from the table in memory to the answers in memory. --out
writes marginals.csv and marginals.svg; --beside adds the lines of an earlier marginals.csv.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from methods import Contest
from report import Line, read_csv, table, write_csv, write_plot
from task import made_up, read_task

METHODS = ("dpqr", "plain", "aim", "mst", "mwem")


def main() -> None:
    given = options()
    task = read_task(given.data, given.workload) if given.data else made_up()
    print(f"{task.name}: {task.records:,} records, {len(task.sizes)} columns, {len(task.marginals)} marginals")
    with tempfile.TemporaryDirectory() as folder:
        task.written(Path(folder))
        limits = {"megabytes": given.megabytes, "iterations": given.iterations, "rounds": given.rounds}
        contest = Contest(
            task=task,
            truth=task.truth(),
            folder=Path(folder),
            peers=given.peers,
            more=tuple(given.more),
            options=limits | {"mst_iterations": given.mst_iterations},
        )
        earlier = [line for path in given.beside for line in read_csv(path) if line.workload == task.name]
        lines = earlier
        for line in held(contest, given):
            lines = sorted([*lines, line], key=lambda one: (one.delta, float(one.eps)))
            kept(lines, given.out)
    kept(lines, given.out)
    print(*table(lines), sep="\n")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--workload", type=Path)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", nargs="+", default=["1e-9"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--megabytes", type=float, default=80, help="peers' model size [80, AIM's default]")
    parser.add_argument("--iterations", type=int, default=1000, help="peers' fits [1000, AIM's default]")
    parser.add_argument("--mst-iterations", type=int, default=5000, help="MST's last fit [5000, its default]")
    parser.add_argument("--rounds", type=int, default=6, help="of MWEM+PGM")
    parser.add_argument("--beside", nargs="*", type=Path, default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("more", nargs="*")
    given = parser.parse_args()
    if (given.data is None) != (given.workload is None):
        parser.error("--data and --workload go together")
    return given


def kept(lines: list[Line], out: Path | None) -> None:
    """Written after every line: contests are long, and what is finished stays if one is ended."""
    if out and lines:
        out.mkdir(parents=True, exist_ok=True)
        write_csv(out / "marginals.csv", lines)
        write_plot(out / "marginals.svg", lines)


def held(contest: Contest, given: argparse.Namespace) -> Iterator[Line]:
    """Every method at every eps and delta; a line at a time on stderr."""
    for delta in given.delta:
        for method in given.methods:
            refusal = contest.refusal(method, delta)
            if refusal:
                print(f"skipped at delta {delta}: {method} {refusal}")
                continue
            for eps in given.eps:
                runs = [contest.run(method, eps, delta) for _ in range(given.runs)]
                line = Line(workload=contest.task.name, delta=delta, eps=eps, method=method, runs=runs)
                print(" ".join(line.fields()), file=sys.stderr, flush=True)
                yield line


if __name__ == "__main__":
    main()
