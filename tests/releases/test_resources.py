"""The forecast of time, memory and disk: a function of the plan, larger where there is more to do."""

import json
from pathlib import Path

import pytest
from support.paid_releases import Unwatched

from dpqr.kernel.noise.source import SeededNoise
from dpqr.releases.formats import FORMATS
from dpqr.releases.planning import plan_release
from dpqr.releases.release import release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.releases.resources import Resources, loop_seconds
from dpqr.tables.source import TableSource

TO_CSV = OutputRequest(directory="out")


def plan(desk, queries, **domain):
    desk.write(q__json={"domain": domain, "queries": queries})
    return plan_release(PlanRequest(queries="q.json", epsilon="1"))


def test_more_to_do_takes_more(desk):
    small = Resources.of(plan(desk, [{"marginals": [["a"], ["b"]]}], a=5, b=5), TO_CSV)
    large = Resources.of(plan(desk, [{"marginals": [["a", "b"], ["b", "c"]]}], a=500, b=50, c=50), TO_CSV)
    assert small.seconds < large.seconds
    assert small.memory < large.memory
    assert small.files < large.files
    assert small.reading < large.reading
    assert Resources.of(plan(desk, [{"marginal": ["a"]}], a=5)).files is None, "nothing is written to the screen"


def test_refits_of_error_bars_take_time_beside_the_loop(desk):
    pairs = [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"], ["a", "c"]]
    desk.write(q__json={"domain": dict.fromkeys("abcdefgh", 9), "queries": [{"marginals": pairs}]})
    bars, none = (
        plan_release(PlanRequest(queries="q.json", epsilon="1", schedule="marginals", error_bars=bars))
        for bars in ("free", "none")
    )
    assert Resources.of(bars).seconds > Resources.of(none).seconds
    assert loop_seconds(bars) == loop_seconds(none)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_files_are_about_as_large_as_forecast(desk, form):
    """Within a factor of two: texts are counted, figures have a typical length."""
    made = plan(desk, [{"marginals": [["a", "b"], ["b", "c"]]}, {"prefix": "a"}], a=50, b=30, c=20)
    rows = "".join(f"{row * row % 50},{row * 7 % 30},{row * 11 % 20}\n" for row in range(3000))
    desk.write(table__csv=f"a,b,c\n{rows}")
    output = OutputRequest(directory="out", format=form)
    release(
        ReleaseRequest(
            source=TableSource(paths=("table.csv",)),
            plan=PlanRequest(queries="q.json", epsilon="1"),
            output=output,
        ),
        Unwatched(),
        noise=SeededNoise(1),
    )
    written = sum(file.stat().st_size for file in Path("out").iterdir())
    assert json.loads(Path("out/release.json").read_text())["plan"]["schedule"]
    assert written / 2 < Resources.of(made, output).files < 2 * written
