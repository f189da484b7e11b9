"""Locked plans: what is released is what was reviewed, or nothing."""

import json

import pytest
from support.cases import in_one_test
from support.command_desk import DOMAIN, QUERIES, Desk

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases import locked_plan as module
from dpqr.releases import release as release_module
from dpqr.releases.locked_plan import differences, read_plan, require_unchanged
from dpqr.releases.record.plan_document import plan_document, seal_document
from dpqr.releases.release import checked_plan
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.strategies.problem import LockedPlan
from dpqr.tables.source import TableSource

ENTRIES = [{"marginal": ["sex", "age"]}, {"prefix": "income"}]


def planned(desk, *options, name="plan.json"):
    ended = desk.run("plan", "--queries", "q.json", "--eps", "1", *options, "--out", name)
    assert ended.code == 0, ended.err
    return json.loads((desk.path / name).read_text())


@pytest.fixture(scope="module")
def plain_plan(tmp_path_factory):
    """The plan of a desk's own queries at epsilon 1."""
    desk = Desk(tmp_path_factory.mktemp("planned"))
    desk.write(q__json=QUERIES)
    with pytest.MonkeyPatch.context() as changed:
        changed.chdir(desk.path)
        return planned(desk)


@pytest.fixture
def locked(desk, plain_plan):
    """A desk with that plan."""
    desk.write(plan__json=plain_plan)
    return desk


def follow(desk, *options, name="plan.json"):
    return desk.run("release", "table.csv", "--plan", name, *options)


def test_a_release_follows_its_plan_and_repeats_its_hash(desk):
    plan = planned(desk, "--schedule", "rounds", "--rounds", "2")
    assert follow(desk, "--out", "out").code == 0
    record = json.loads((desk.path / "out" / "release.json").read_text())
    assert record["plan"] == plan
    assert record["plan"]["request"]["options"]["rounds"] == 2


def test_the_documents_may_be_gone_and_the_plan_moved(desk):
    desk.write(q__json={"domain": DOMAIN, "queries": [{"coefficients": "w.csv", "columns": ["sex"]}]})
    desk.write(w__csv="sex,coefficient\nF,1\nM,0.5\n")
    plan = planned(desk, name="plan.json")
    (name,) = [path.name for path in desk.path.iterdir() if len(path.name) > 64]
    for each in ("plan.json", name):
        desk.put(f"there/{each}", (desk.path / each).read_bytes())
    for each in ("q.json", "w.csv", "plan.json", name):
        (desk.path / each).unlink()
    ended = follow(desk, "--out", "out", name="there/plan.json")
    assert ended.code == 0, ended.err
    record = json.loads((desk.path / "out" / "release.json").read_text())
    assert record["plan"]["sha256"] == plan["sha256"]
    assert set(record["hashes"]) == {"answers.csv", name}
    assert record["hashes"][name] == name.removesuffix(".csv")
    desk.put(f"there/{name}", "sex,coefficient\nF,1\nM,0.25\n")
    ended = follow(desk, name="there/plan.json")
    assert (ended.code, "$.request.queries.queries[0].coefficients" in ended.err) == (3, True)


GIVEN = [
    (("--eps", "2"), "$.request.options.epsilon is '1' in the plan, and would be '2' now"),
    (("--queries", "other.json"), "$.request.queries.queries[1].prefix is 'income' in the plan, and would be nothing"),
    (("--queries", "edges.json"), "$.request.domain.fields[2].dpqr.edges[1] is 100 in the plan, and would be 150 now"),
    (("--domain", "domain.json"), "$.request.domain.fields[2].dpqr.edges[1] is 100 in the plan"),
    (("--seed", "5"), "$.request.options.seed is 0 in the plan, and would be 5 now"),
    (("--max-records", "9"), "$.request.reading.limits.records is 68719476736 in the plan, and would be 9 now"),
    (("--delimiter", ";"), "$.request.reading.delimiter is null in the plan, and would be ';' now"),
    (("--counts", "c"), "$.request.options.counts is null in the plan, and would be 'c' now"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "words"), GIVEN, ids=[" ".join(options) for options, _ in GIVEN])
def test_what_is_given_beside_a_plan_must_be_the_same(locked, options, words):
    other = json.loads(json.dumps(DOMAIN))
    other["fields"][2]["dpqr"]["edges"][1] = 150
    locked.write(domain__json=other, edges__json={"domain": other, "queries": ENTRIES})
    locked.write(other__json={"domain": DOMAIN, "queries": [ENTRIES[0], {"marginal": ["income"]}]})
    ended = follow(locked, *options)
    assert (ended.code, ended.out) == (3, "")
    assert words in ended.err
    assert "dpqr plan --out FILE" in ended.err


@pytest.mark.slow
def test_the_same_options_may_stand_beside_it(locked):
    locked.write(queries__yaml="queries:\n- marginal: [sex, age]\n- prefix: income\n", domain__json=DOMAIN)
    for options in (
        ("--queries", "q.json"),
        ("--eps", "1.0"),
        ("--queries", "queries.yaml", "--domain", "domain.json"),
    ):
        ended = follow(locked, *options, "--dry-run")
        assert ended.code == 0, ended.err


@pytest.mark.slow
def test_another_version_is_told(locked, monkeypatch):
    monkeypatch.setattr("dpqr.releases.record.plan_document.__version__", "9.9.9")
    ended = follow(locked)
    assert ended.code == 3
    assert "$.version is" in ended.err


def test_a_plan_that_was_edited_is_refused(locked, plain_plan):
    for text, words in (
        (json.dumps({**plain_plan, "guarantee": "none"}), "was edited or is damaged"),
        (json.dumps({**plain_plan, "sha256": "0" * 64}), "was edited or is damaged"),
        (json.dumps(plain_plan).replace('"seed": 0', '"seed": 0, "seed": 1'), "is no plan"),
        (json.dumps({"dpqr": "plan/1"}), "is no plan"),
        ("[]", "is no plan"),
        ("{", "is no plan"),
    ):
        locked.write(plan__json=text)
        ended = follow(locked)
        assert (ended.code, words in ended.err) == (3, True), ended.err
    forged = seal_document({**plain_plan, "rounds": 99})
    locked.write(plan__json=forged)
    assert "$.rounds is 99 in the plan, and would be" in follow(locked).err
    assert follow(locked, name="none.json").code == 2


def test_every_part_of_a_plan_is_compared(locked, plain_plan):
    request = ReleaseRequest(source=TableSource(paths=("table.csv",)), plan=PlanRequest(queries="q.json", epsilon="1"))
    now, _ = checked_plan(request)
    require_unchanged(LockedPlan(name="p", document=plain_plan), plan_document(now))
    for name in plan_document(now):
        changed = LockedPlan(name="p", document={**plain_plan, name: "other"})
        if name in module.UNCOMPARED_KEYS:
            require_unchanged(changed, plan_document(now))
            continue
        with pytest.raises(DocumentError, match=rf"\$\.{name}"):
            require_unchanged(changed, plan_document(now))


def test_differences_name_the_first_place():
    assert not list(differences({"a": [1, {"b": None}]}, {"a": (1, {"b": None})}, "$"))
    assert next(differences({"a": [1, 2]}, {"a": [1, 2, 3]}, "$")) == ("$.a[2]", "nothing", "3")
    assert next(differences({"a b": 1}, {}, "$")) == ('$["a b"]', "1", "nothing")


@pytest.mark.slow
def test_a_policy_that_came_later_is_found(desk):
    desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite")
    paid = ("--dataset", "survey", "--ledger", "l.sqlite")
    planned(desk, *paid)
    assert follow(desk, *paid, "--dry-run").code == 0
    desk.run("budget", "policy", "survey", "--max-records", "1000", "--ledger", "l.sqlite")
    ended = follow(desk, *paid)
    assert ended.code == 3
    assert "$.request.reading.limits.records" in ended.err


@pytest.mark.slow
def test_a_killed_release_goes_on_with_the_plan_alone(desk, monkeypatch):
    desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite")
    paid = ("--dataset", "survey", "--ledger", "l.sqlite", "--out", "out")
    plan = planned(desk, *paid[:4])

    def failed(*_, **__):
        raise UsageFault("no")

    with monkeypatch.context() as patched:
        patched.setattr(release_module, "write_release", failed)
        assert follow(desk, *paid).code == 2
    assert desk.release(*paid, "--resume", "--rounds", "9").code == 2
    assert follow(desk, *paid, "--resume").code == 0
    entries = desk.run("budget", "history", "--json", "--ledger", "l.sqlite").json
    assert [each["plan"] for each in entries if each["entry"] == "reserve"] == [plan["sha256"]]


def test_a_plan_is_never_overwritten(locked):
    ended = locked.run("plan", "--queries", "q.json", "--eps", "1", "--out", "plan.json")
    assert ended.code == 8
    assert "the file exists" in ended.err


@pytest.mark.slow
def test_a_plan_from_python_is_the_same(desk):
    import dpqr

    made = dpqr.plan(queries="q.json", eps=1)
    made.save("python.json")
    document, other = read_plan("python.json").document, planned(desk)
    assert made.sha256 == document["sha256"]
    assert all(document[name] == other[name] for name in document if name != "sha256")
    assert other["expected"]["records"], "the command adds its forecast"
    released = dpqr.release("table.csv", plan="python.json")
    assert released.record["plan"]["sha256"] == made.sha256
    with pytest.raises(UsageFault, match="give queries and eps, or the plan"):
        dpqr.release("table.csv", eps=1)
    with pytest.raises(DocumentError, match="epsilon"):
        dpqr.release("table.csv", plan="python.json", eps=2)


@in_one_test(
    ("old", "new", "path"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "$.b"),
        ([1, 2], [1, 2, 3], "$[2]"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "$.a[0].b"),
        (1, True, "$"),
        (None, 0, "$"),
        (1.0, 1.0 + 1e-4, "$"),
        ("1", 1, "$"),
    ],
)
def test_every_difference_of_two_plans_is_found_on_either_side(old, new, path):
    for one, other in ((old, new), (new, old)):
        assert [found[0] for found in differences(one, other, "$")] == [path]
        assert not list(differences(one, one, "$"))


def test_forecasts_may_end_in_other_last_digits():
    assert not list(differences({"a": [1.0]}, {"a": [1.0 + 1e-9]}, "$"))
