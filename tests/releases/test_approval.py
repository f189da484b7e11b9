"""The two-person rule from plan to release, through the command line and through Python."""

import json
import shutil

import pytest
from support.cases import thinned
from support.command_desk import DOMAIN, QUERIES, TABLE, Desk

import dpqr
from dpqr.kernel.errors import BudgetRefused, DocumentError
from dpqr.releases.record.plan_document import seal_document

PAID = ("--dataset", "survey", "--ledger", "l.sqlite")


LEARN = ("--target", "sex", "--domain", "domain.json", "--eps", "1", "--points", "points.csv")
QUESTIONS = ("interactive", "open", "desk")
STATED = ("--domain", "domain.json", "--eps", "1", "--surprises", "3")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A desk with a budget that asks for approvals, and plans: of a release, of predictions by votes and by a learner,
    and of a session of questions."""
    desk = Desk(tmp_path_factory.mktemp("prepared"))
    desk.write(table__csv=TABLE, q__json=QUERIES, domain__json=DOMAIN, points__csv="age,income\n30,100\n41,80\n")
    with pytest.MonkeyPatch.context() as changed:
        changed.chdir(desk.path)
        for command in (
            ("budget", "init", "survey", "--eps", "5", "--require-approval", "--ledger", "l.sqlite"),
            ("plan", "--queries", "q.json", "--eps", "1", *PAID, "--out", "plan.json"),
            ("predict", *LEARN, "--learner", "aggregate", "--parts", "3", *PAID, "--lock", "lock.json"),
            ("predict", *LEARN, *PAID, "--lock", "other.json"),
            (*QUESTIONS, *STATED, *PAID, "--lock", "session.json"),
        ):
            ended = desk.run(*command)
            assert ended.code == 0, ended.err
    for said in ("with epsilon = 1 (pure", "interactive", "3 surprises are paid for", "one at a time"):
        assert said in ended.out, ended.out
    return desk.path


@pytest.fixture
def reviewed(desk, prepared):
    """A copy of it, which is also the working directory."""
    shutil.copytree(prepared, desk.path, dirs_exist_ok=True)
    return desk


def release(desk, *options, plan="plan.json"):
    return desk.run("release", "table.csv", "--plan", plan, *PAID, "--by", "Ann", *options)


def approve(desk, by="M. Lee", plan="plan.json"):
    return desk.run("budget", "approve", "survey", plan, "--by", by, "--ledger", "l.sqlite")


def test_only_an_approved_plan_is_paid(reviewed):
    assert "approved plans only" in reviewed.run("budget", "show", "survey", "--ledger", "l.sqlite").out
    refused = release(reviewed)
    assert (refused.code, refused.out) == (4, "")
    assert "dpqr budget approve survey plan.json --by NAME" in refused.err
    assert release(reviewed, "--dry-run").code == 4
    ended = approve(reviewed)
    digest = json.loads((reviewed.path / "plan.json").read_text())["sha256"]
    assert (ended.code, digest in ended.err) == (0, True)
    for said in (
        "with epsilon = 1 (pure",
        "13 queries in 2 blocks",
        digest,
        "one release of 'survey' by this plan, by M. Lee",
    ):
        assert said in ended.out, ended.out
    assert release(reviewed, "--dry-run").code == 0
    made = release(reviewed, "--out", "out", "--publisher", "An office")
    assert made.code == 0, made.err
    record = json.loads((reviewed.path / "out" / "release.json").read_text())
    assert (record["by"], record["approved_by"], record["publisher"]) == ("Ann", "M. Lee", "An office")
    assert record["plan"]["sha256"] == digest
    line = ["Plan", f"{digest}, approved by M. Lee"]
    assert line in record["receipt"]
    assert "approved by M. Lee" in made.err
    assert release(reviewed).code == 4, "one approval pays for one release"
    assert "approved by M. Lee" in reviewed.run("budget", "history", "--ledger", "l.sqlite").out


def test_an_unlocked_release_and_predictions_are_refused(reviewed):
    assert reviewed.release("--dry-run", *PAID).code == 0, "it is planned all the same"
    ended = reviewed.release(*PAID, "--by", "Ann")
    assert (ended.code, "dpqr plan --out plan.json" in ended.err) == (4, True)
    ended = reviewed.run("predict", "table.csv", *LEARN, *PAID, "--by", "Ann")
    assert (ended.code, "dpqr predict --lock plan.json" in ended.err) == (4, True), ended.err
    ended = reviewed.run("predict", "open", "desk", "table.csv", *LEARN[:-2], *PAID, "--by", "Ann")
    assert (ended.code, "dpqr budget approve" in ended.err) == (4, True), ended.err


def predict(desk, *options, plan="lock.json", points="points.csv"):
    return desk.run("predict", "table.csv", "--plan", plan, "--points", points, *PAID, "--by", "Ann", *options)


def test_predictions_follow_an_approved_plan(reviewed):
    digest = json.loads((reviewed.path / "lock.json").read_text())["sha256"]
    assert predict(reviewed).code == 4
    said = approve(reviewed, plan="lock.json").out
    assert all(each in said for each in (digest, "3 disjoint parts", "one run of predictions of 'survey'")), said
    assert predict(reviewed, plan="other.json").code == 4, "another plan was approved"
    assert predict(reviewed, "--dry-run").code == 0
    ended = predict(reviewed, "--out", "p.csv")
    assert ended.code == 0, ended.err
    record = json.loads((reviewed.path / "p.csv.record.json").read_text())
    assert (record["approved_by"], record["plan"]["sha256"]) == ("M. Lee", digest)
    assert ["Approved", "by M. Lee"] in record["receipt"]
    made, paid = reviewed.path / "p.csv", reviewed.path / "l.sqlite"
    checked = dpqr.verify(made, ledger=paid, plan=reviewed.path / "lock.json").document()["checks"]
    assert [check["state"] for check in checked] == ["ok"] * 7 + ["not checked", "ok", "ok"]
    assert not dpqr.verify(made, plan=reviewed.path / "other.json").passed
    assert predict(reviewed).code == 4, "one approval pays for one run"


def test_predictions_that_differ_from_their_plan_are_refused(reviewed):
    for option, value in (("eps", "2"), ("learner", "svm"), ("n", "30")):
        ended, named = predict(reviewed, f"--{option}", value), "epsilon" if option == "eps" else option
        said = [words in ended.err for words in (f"$.request.options.{named}", "dpqr predict --lock")]
        assert (ended.code, said) == (3, [True, True]), ended.err


def test_other_points_may_be_predicted_but_as_many(reviewed):
    approve(reviewed, plan="lock.json")
    reviewed.write(fewer__csv="age,income\n30,100\n", others__csv="age,income\n1,2\n3,4\n")
    ended = predict(reviewed, points="fewer.csv")
    assert (ended.code, "$.request.options.predictions is 2" in ended.err) == (3, True), ended.err
    assert predict(reviewed, points="others.csv").code == 0


def test_plans_of_releases_and_of_predictions_are_told_apart(reviewed):
    ended = release(reviewed, plan="lock.json")
    assert (ended.code, "is no plan that can be released" in ended.err) == (3, True)
    ended = predict(reviewed, plan="plan.json")
    assert (ended.code, "is no plan that can be predicted by" in ended.err) == (3, True)
    ended = predict(reviewed, "--lock", "again.json")
    assert (ended.code, "--lock writes a plan" in ended.err) == (2, True)
    record = json.loads((reviewed.path / "lock.json").read_text())
    reviewed.write(
        forged__json=seal_document({**record, "guarantee": "perfect"}), edited__json={**record, "version": "9"}
    )
    assert approve(reviewed, plan="forged.json").code == 3
    assert "was edited" in approve(reviewed, plan="edited.json").err


def opened(desk, *options, plan="session.json"):
    return desk.run(*QUESTIONS, "table.csv", "--plan", plan, *PAID, "--by", "Ann", *options)


@pytest.mark.slow
def test_a_session_of_questions_follows_an_approved_plan(reviewed):
    digest = json.loads((reviewed.path / "session.json").read_text())["sha256"]
    unlocked = reviewed.run(*QUESTIONS, "table.csv", *STATED, *PAID, "--by", "Ann")
    assert (unlocked.code, "--lock plan.json" in unlocked.err) == (4, True), unlocked.err
    assert opened(reviewed).code == 4
    said = approve(reviewed, plan="session.json")
    assert (said.code, digest in said.out, "3 surprises are paid for" in said.out) == (0, True, True), said.err
    assert opened(reviewed, "--dry-run").code == 0
    ended = opened(reviewed)
    assert (ended.code, "0 of 3 are spent" in ended.out) == (0, True), ended.err
    ledger = PAID[2:]
    assert reviewed.run("interactive", "ask", "desk", "--where", "age >= 25", *ledger).code == 0
    assert reviewed.run("interactive", "close", "desk", "--out", "out", *ledger).code == 0
    record = json.loads((reviewed.path / "out" / "release.json").read_text())
    assert (record["approved_by"], record["questions"]["plan"]) == ("M. Lee", digest)
    assert ["Plan", f"{digest}, approved by M. Lee"] in record["receipt"]
    reviewed.run(*QUESTIONS, *STATED[:-1], "4", *PAID, "--lock", "other.session.json")
    checked = reviewed.run("verify", "out", *ledger, "--plan", "session.json")
    assert checked.code == 0, checked.err
    assert reviewed.run("verify", "out", *ledger, "--plan", "other.session.json").code == 6
    assert reviewed.run("verify", "out", *ledger, "--plan", "plan.json").code == 6
    assert opened(reviewed).code == 4, "one approval pays for one session"


def test_a_session_that_differs_from_its_plan_is_refused(reviewed):
    for options, named in (
        (("--eps", "2"), "options.epsilon"),
        (("--surprises", "4"), "options.surprises"),
        (("--questions", "20"), "options.questions"),
        (("--expect", "q.json"), "queries"),
        (("--accountant", "zcdp", "--delta", "1e-9"), "options.delta"),
    ):
        ended = opened(reviewed, *options)
        said = [words in ended.err for words in (f"$.request.{named}", "interactive open NAME --lock FILE")]
        assert (ended.code, said) == (3, [True, True]), ended


def test_plans_of_sessions_and_of_releases_are_told_apart(reviewed):
    ended = release(reviewed, plan="session.json")
    assert (ended.code, "dpqr interactive open NAME DATA --plan FILE" in ended.err) == (2, True), ended.err
    ended = opened(reviewed, plan="plan.json")
    assert (ended.code, "nothing was opened" in ended.err) == (3, True), ended.err
    ended = opened(reviewed, plan="lock.json")
    assert (ended.code, "is no plan that can be released" in ended.err) == (3, True), ended.err
    ended = opened(reviewed, "--lock", "again.json")
    assert (ended.code, "--lock writes a plan" in ended.err) == (2, True), ended.err
    ended = reviewed.run(*QUESTIONS, "--plan", "session.json", *PAID)
    assert (ended.code, "DATA names the private table" in ended.err) == (2, True), ended.err
    kept = json.loads((reviewed.path / "session.json").read_text())
    kept["request"]["options"]["surprises"] = 2
    reviewed.write(edited__json=kept, forged__json=seal_document({**kept, "guarantee": "perfect"}))
    assert "was edited" in opened(reviewed, plan="edited.json").err
    assert approve(reviewed, plan="forged.json").code == 3


def test_a_session_of_expected_queries_follows_its_plan_from_python(reviewed):
    kept, ledger = reviewed.path / "expecting.json", reviewed.path / "l.sqlite"
    stated = {"eps": 1, "expect": str(reviewed.path / "q.json"), "dataset": "survey", "ledger": ledger}
    planned = dpqr.open_session(None, name="other", dry_run=True, **stated)
    planned.save(kept)
    dpqr.Ledger(ledger).approve("survey", kept, by="M. Lee")
    table, paid = reviewed.path / "table.csv", {"dataset": "survey", "ledger": ledger}
    session = dpqr.open_session(table, name="other", plan=kept, by="Ann", **paid)
    assert session.status().paid_surprises == 50
    assert planned.sha256 in [each.plan for each in dpqr.Ledger(ledger).entries() if each.kind == "reserve"]


@pytest.mark.slow
def test_the_same_from_python(reviewed):
    ledger = dpqr.Ledger("l.sqlite")
    asked = {"plan": "plan.json", "dataset": "survey", "ledger": ledger, "by": "Ann"}
    with pytest.raises(BudgetRefused):
        dpqr.release("table.csv", **asked)
    approved = ledger.approve("survey", "plan.json", by="M. Lee", purpose="read it")
    digest = approved.sha256
    assert "one release of 'survey' by this plan, read it, by M. Lee" in str(approved)
    made = dpqr.release("table.csv", **asked)
    assert made.record["plan"]["sha256"] == digest
    with pytest.raises(BudgetRefused):
        dpqr.release("table.csv", **asked)
    with pytest.raises(DocumentError):
        ledger.approve("survey", "q.json", by="M. Lee")
    ledger.init("other", eps=1)
    ledger.policy("other", require_approval=True)
    with pytest.raises(BudgetRefused):
        dpqr.release("table.csv", **{**asked, "dataset": "other"})


def resealed(desk, name, change, plan="plan.json"):
    """A plan that somebody has changed with care: under a new seal."""
    document = json.loads((desk.path / plan).read_text())
    change(document)
    (desk.path / name).write_text(json.dumps(seal_document(document)))
    return name


SECRET = "a very private value"
UNKNOWN = {
    "$.remark": lambda d: d.update(remark=SECRET),
    "$.unit.remark": lambda d: d["unit"].update(remark=SECRET),
    "$.domain.columns[0].remark": lambda d: d["domain"]["columns"][0].update(remark=SECRET),
    "$.expected.remark": lambda d: d["expected"].update(remark=SECRET),
    "$.expected.blocks[0].error.remark": lambda d: d["expected"]["blocks"][0]["error"].update(remark=SECRET),
    "$.guarantee": lambda d: d.update(guarantee=SECRET),
}


def test_a_key_that_no_plan_has_is_named_and_its_value_is_not_repeated(reviewed):
    """A forecast belongs to a release alone."""
    cases = [("plan.json", path, change) for path, change in UNKNOWN.items()]
    cases.append(("lock.json", "$.expected", lambda d: d.update(expected={"epsilon": 1})))
    for plan, path, change in cases:
        ended = approve(reviewed, plan=resealed(reviewed, "more.json", change, plan=plan))
        assert (ended.code, path in ended.err) == (3, True), ended.err
        assert (SECRET in ended.err) == (path == "$.guarantee"), "a guarantee is a key of every plan"
    assert [each.kind for each in dpqr.Ledger(reviewed.path / "l.sqlite").entries()] == ["open", "init"]


NOTES = {
    "one more": lambda notes: notes.append(SECRET),
    "one instead": lambda notes: notes.__setitem__(0, SECRET),
    "one less": lambda notes: notes.pop(),
    "twice": lambda notes: notes.append(notes[0]),
}


@pytest.mark.parametrize("plan", thinned(["plan.json", "lock.json", "session.json"], 3))
def test_notes_are_those_of_the_plan_made_again(reviewed, plan):
    """A plan without notes gains one."""
    document = json.loads((reviewed.path / plan).read_text())
    for change in NOTES if document["notes"] else ("one more",):
        edit = NOTES[change]
        ended = approve(
            reviewed, plan=resealed(reviewed, "said.json", lambda d, edit=edit: edit(d["notes"]), plan=plan)
        )
        assert (ended.code, "$.notes" in ended.err, SECRET in ended.err) == (3, True, False), ended.err
    assert approve(reviewed, plan=plan).code == 0


@pytest.mark.slow
def test_notes_of_how_documents_were_read_are_kept_with_the_request(reviewed):
    """Of a plan from SQL, and of one whose queries hold an unused domain; the plan made again says them too."""
    document = json.loads((reviewed.path / "q.json").read_text())
    reviewed.write(d__json=document["domain"])
    (reviewed.path / "q.sql").write_text("SELECT sex, COUNT(*) FROM t GROUP BY sex;")
    for queries in ("q.json", "q.sql"):
        asked = ("plan", "--queries", queries, "--domain", "d.json", "--eps", "1", *PAID, "--out", f"{queries}.plan")
        ended = reviewed.run(*asked)
        assert ended.code == 0, ended.err
        ended = approve(reviewed, plan=f"{queries}.plan")
        assert ended.code == 0, ended.err
    kept = json.loads((reviewed.path / "q.json.plan").read_text())
    assert "the domain in the queries document is not used: another is given" in kept["request"]["notes"]
    assert kept["notes"][0] == kept["request"]["notes"][0]


@pytest.mark.parametrize(
    "by", thinned(["M.Lee", "m lee", "M\u2010LEE", "\uff2d. \uff2c\uff45\uff45", "M. Le\u034fe"], 5)
)
def test_a_name_that_is_spelled_otherwise_is_no_other_name(reviewed, by):
    """Nobody approves alone, or without a name."""
    assert approve(reviewed, by=by).code == 0
    ended = reviewed.run("release", "table.csv", "--plan", "plan.json", *PAID, "--by", "M. Lee")
    assert (ended.code, "make no other name" in ended.err) == (4, True), ended.err
    assert release(reviewed, "--approved-by", "M. LEE", "--dry-run").code == 0
    ended = reviewed.run("budget", "approve", "survey", "plan.json", "--ledger", "l.sqlite")
    assert (ended.code, "--by" in ended.err) == (2, True)


def test_a_plan_for_persons_is_approved_with_its_whole_forecast(desk):
    """Of their tables, and of the rows that their bound leaves out, as a proxy shows them."""
    rows = "".join(f"{person},{sex}\n" for person in range(8) for sex in "FMM")
    domain = {"fields": [DOMAIN["fields"][0]], "unit": {"column": "id", "max_rows": 2}}
    asked = {"domain": domain, "queries": [{"persons": {"by": ["sex"]}}, {"marginal": ["sex"]}]}
    desk.write(q__json=asked, proxy__csv=f"id,sex\n{rows}", table__csv=f"id,sex\n{rows}")
    opening = ("budget", "init", "survey", "--eps", "5", "--require-approval", "--unit", "id", "--ledger", "l.sqlite")
    planning = ("plan", "--queries", "q.json", "--eps", "1", "--proxy", "proxy.csv", *PAID, "--out", "plan.json")
    for command in (opening, planning):
        ended = desk.run(*command)
        assert ended.code == 0, ended.err
    assert {"persons", "left_out"} <= json.loads((desk.path / "plan.json").read_text())["expected"].keys()
    ended = approve(desk)
    assert ended.code == 0, ended.err
    assert release(desk, "--out", "released").code == 0


def test_a_plan_is_written_though_nobody_reads_the_screen(desk, monkeypatch):
    def closed(*_):
        raise BrokenPipeError(32, "closed")

    desk.write(q__json=QUERIES)
    monkeypatch.setattr("dpqr.cli.screen.Screen.show", closed)
    desk.run("plan", "--queries", "q.json", "--eps", "1", "--runs", "1", "--out", "plan.json")
    assert (desk.path / "plan.json").exists()
