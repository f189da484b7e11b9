"""`dpqr predict` as a user meets it."""

import json
from itertools import pairwise

import pytest
from support.cases import slow_but, thinned
from support.command_desk import PRIVATE

DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 1, "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
        {"name": "buys", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}},
    ],
}
ROWS = ["sex,age,buys,who"]
for number in range(200):
    ROWS += [f"F,{20 + number % 30},yes,{number % 70}", f"M,{50 + number % 30},no,{number % 70}"]
TRAIN = "\n".join([*ROWS, "PRIVATEVALUE,987654321,yes,3", "M,,no,4"]) + "\n"
POINTS = "age,sex\n25,F\n70,M\n,X\n"


@pytest.fixture
def shop(desk):
    desk.write(train__csv=TRAIN, d__json=DOMAIN, new__csv=POINTS)
    return desk


def predict(shop, *more, target="buys", eps="50"):
    return shop.run("predict", "train.csv", "--target", target, "--domain", "d.json", "--eps", eps, *more)


@pytest.mark.parametrize("learner", thinned(["logistic", "svm"], 2))
@pytest.mark.parametrize("noise", thinned([(), ("--delta", "1e-6")], 2))
def test_labels_for_points(shop, learner, noise):
    done = predict(shop, "--learner", learner, "--n", "400", "--lambda", "0.01", "--points", "new.csv", *noise)
    assert done.code == 0, done.err
    assert done.out.splitlines()[:2] == ["yes", "no"]
    assert len(done.out.splitlines()) == 3
    assert "Guarantee" in done.err
    assert not any(value in done.out + done.err for value in PRIVATE)


@pytest.mark.parametrize("learner", [("least-squares",), ("quantile", "--tau", "0.5")])
def test_numbers_for_points_stay_within_the_declared_bounds(shop, learner):
    done = predict(shop, "--points", "new.csv", "--learner", *learner, target="age")
    assert done.code == 5  # there is no column buys
    shop.write(new__csv="sex,buys\nF,yes\nM,no\n")
    done = predict(shop, "--points", "new.csv", "--n", "400", "--learner", *learner, target="age")
    assert done.code == 0, done.err
    young, old = map(float, done.out.splitlines())
    assert 0 <= young < old <= 99


def test_an_ensemble_by_rows_and_by_persons(shop):
    for unit in ((), ("--unit", "who", "--max-rows", "3")):
        done = predict(shop, "--points", "new.csv", "--learner", "aggregate", "--parts", "9", *unit)
        assert done.code == 0, done.err
        assert done.out.splitlines()[:2] == ["yes", "no"]


def test_randomised_votes_give_labels_and_nothing_else(shop):
    votes = ("--learner", "aggregate", "--vote", "randomised")
    done = predict(shop, "--points", "new.csv", *votes, "--parts", "9", "--out", "p.csv", eps="500")
    assert done.code == 0, done.err
    labels = (shop.path / "p.csv").read_text().splitlines()
    assert labels[0] == '"prediction"'
    assert {label.strip('"') for label in labels[1:]} <= {"no", "yes"}
    record = json.loads((shop.path / "p.csv.record.json").read_text())
    assert record["plan"]["learner"]["vote"] == "randomised"
    assert record["plan"]["form"]["kind"] == "randomised-votes-form"
    assert record["events"] == record["plan"]["events"]


@pytest.mark.slow
def test_a_function_is_released_once_and_applied_for_free(shop):
    done = predict(shop, "--release", "function", "--delta", "1e-6", "--n", "400", "--out", "model.json")
    assert (done.code, done.out) == (0, "")
    model = json.loads((shop.path / "model.json").read_text())
    assert model["dpqr"] == "model/1"
    assert model["guarantee"].startswith("Differentially private with epsilon = 50")
    for _ in range(2):
        done = shop.run("predict", "--model", "model.json", "--points", "new.csv")
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[:2] == ["yes", "no"]
    assert shop.run("predict", "--model", "model.json", "--points", "new.csv", "--json").json["predictions"][:2] == [
        "yes",
        "no",
    ]
    shop.write(none__csv=(shop.path / "new.csv").read_text().splitlines()[0] + "\n")
    done = shop.run("predict", "--model", "model.json", "--points", "none.csv")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = shop.run("predict", "--model", "model.json", "--points", "new.csv", "--out", "p.csv")
    assert (shop.path / "p.csv").read_text().splitlines()[0] == '"prediction","score"'
    assert "Learner" not in done.err


def test_predictions_go_to_a_file_with_their_record_beside_it(shop):
    done = predict(shop, "--points", "new.csv", "--n", "400", "--out", "p.json")
    assert (done.code, done.out) == (0, "")
    assert [row["prediction"] for row in json.loads((shop.path / "p.json").read_text())][:2] == ["yes", "no"]
    record = json.loads((shop.path / "p.json.record.json").read_text())
    assert record["private"] is True
    assert record["events"] == record["plan"]["events"]
    again = predict(shop, "--points", "new.csv", "--n", "400", "--out", "p.json")
    assert (again.code, "exists" in again.err) == (8, True)


def test_a_rehearsal_opens_no_table_pays_nothing_and_is_stamped(shop, monkeypatch):
    for place in ("check_table", "load_table"):
        monkeypatch.setattr(f"dpqr.prediction.predict.{place}", None)
    assert shop.run("budget", "init", "shop", "--eps", "60", "--ledger", "l.sqlite").code == 0
    before = (shop.path / "l.sqlite").read_bytes()
    rehearsal = "--points", "new.csv", "--n", "400", "--dataset", "shop", "--ledger", "l.sqlite", "--rehearse"
    done = predict(shop, *rehearsal, "--out", "p.csv")
    assert done.code == 0, done.err
    stamp = "REHEARSAL: 400 rows were drawn from the public domain, and no table was opened; the predictions describe"
    assert stamp in " ".join(done.err.split())
    assert "predictions written to rehearsal-p.csv" in done.err
    assert {"rehearsal-p.csv", "rehearsal-p.csv.record.json"} < shop.everything()
    assert "p.csv" not in shop.everything()
    record = json.loads((shop.path / "rehearsal-p.csv.record.json").read_text())
    assert (record["rehearsal"], record["ledger"], record["guarantee"][:9]) == (True, None, "REHEARSAL")
    assert predict(shop, *rehearsal).out.startswith(stamp)
    assert predict(shop, *rehearsal, eps="70").code == 4
    assert (shop.path / "l.sqlite").read_bytes() == before


def test_a_rehearsed_function_is_never_applied(shop):
    asked = "--target", "buys", "--domain", "d.json", "--eps", "50", "--release", "function", "--out", "m.json"
    done = shop.run("predict", *asked, "--rehearse")
    assert (done.code, done.err.splitlines()[-1]) == (0, "model written to rehearsal-m.json")
    applied = shop.run("predict", "--model", "rehearsal-m.json", "--points", "new.csv")
    assert (applied.code, "the function of a rehearsal, which describes nobody" in applied.err) == (3, True)
    assert shop.run("predict", "--model", "rehearsal-m.json", "--rehearse").code == 2


def test_ensembles_and_streams_are_rehearsed(shop):
    shop.write(new__csv="sex,buys\nF,yes\nM,no\n")
    persons = "--points", "new.csv", "--unit", "who", "--max-rows", "2", "--rehearse", "--json"
    parts, stream = ("--learner", "aggregate"), ("--learner", "online", "--neighbours", "replace", "--n", "90")
    for learner in (parts, stream):
        done = predict(shop, *persons, *learner, target="age")
        assert done.code == 0, done.err
        assert (done.json["rehearsal"], len(done.json["predictions"])) == (True, 2)


def test_a_number_of_records_that_nobody_declares_is_bought(shop):
    done = predict(shop, "--points", "new.csv", "--json")
    assert done.code == 0, done.err
    assert 350 < done.json["counted"] < 450
    assert len(done.json["events"]) == 2


def test_a_ledger_pays(shop):
    ledger = ("--ledger", "l.sqlite")
    assert shop.run("budget", "init", "shop", "--eps", "3", *ledger).code == 0
    paid = ("--points", "new.csv", "--n", "400", "--dataset", "shop", *ledger)
    assert predict(shop, *paid, eps="2").code == 0
    refused = predict(shop, *paid, eps="2")
    assert refused.code == 4
    assert shop.run("budget", "show", "shop", *ledger, "--json").json[0]["spent"]["exact"] == "2"


@pytest.mark.slow
def test_a_ledger_in_rho_pays_a_function_by_the_rho_of_its_noise(shop):
    """The analytic plan of an eps has more rho than zcdp's of the same, and that is what is charged; a run that names
    no accountant takes the ledger's. (Of few weights pure noise is smaller, and so it is in the objective.)"""
    ledger = ("--ledger", "l.sqlite")
    opened = ("--eps", "9", "--delta", "1e-6", "--accountant", "zcdp")
    wide = ("--kernel", "gaussian", "--features", "64", "--method", "output")
    assert shop.run("budget", "init", "shop", *opened, *ledger).code == 0
    spent = [0.0]
    for place, accountant in enumerate((("--accountant", "zcdp"), ("--accountant", "analytic"), ())):
        more = ("--release", "function", "--delta", "1e-6", "--n", "400", "--out", f"m{place}.json", *accountant, *wide)
        done = predict(shop, *more, "--dataset", "shop", *ledger, eps="1")
        assert done.code == 0, done.err
        spent.append(float(shop.run("budget", "show", "shop", *ledger, "--json").json[0]["spent"]["decimal"]))
    first, second, third = (after - before for before, after in pairwise(spent))
    assert 1.1 * first < second < 1.2 * first
    assert third == pytest.approx(first)


EMPTY = "sex,age,buys\n"
ALIKE = EMPTY + "F,30,yes\n" * 30


@pytest.mark.parametrize(
    ("learner", "table"),
    slow_but(
        {0, 4},
        [
            *(("logistic", table) for table in (EMPTY, ALIKE, EMPTY + "F,30,yes\n", EMPTY + "X,?,\n" * 9)),
            *((learner, table) for learner in ("svm", "aggregate") for table in (EMPTY, ALIKE)),
        ],
    ),
)
def test_tables_that_teach_nothing_are_no_error(shop, learner, table):
    shop.write(train__csv=table)
    done = predict(shop, "--points", "new.csv", "--learner", learner)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 3


NUMBERS = [
    {"name": "x", "type": "number", "dpqr": {"edges": [0, 1, 2, 3], "outside": "clip", "otherwise": "drop"}},
    {"name": "y", "type": "number", "dpqr": {"edges": [0, 5, 10], "outside": "clip", "otherwise": "drop"}},
]
ODD = {
    "no rows": "x,y\n",
    "one target": "x,y\n" + "0.5,7\n2.5,7\n" * 20,
    "NaN, infinite, empty and unparsable cells": "x,y\n" + "nan,7\n1,nan\ninf,-inf\n,\nPRIVATEVALUE,3\n" * 5,
    "targets far outside": "x,y\n" + "0.5,1e300\n1.5,-987654321\n" * 20,
    "fewer rows than parts": "x,y\n1,2\n2,9\n",
}


@pytest.mark.parametrize("table", thinned(ODD.values(), 2), ids=ODD.keys())
@pytest.mark.parametrize("learner", thinned(["least-squares", "quantile", "aggregate"], 3))
def test_no_table_of_numbers_is_an_error_and_no_prediction_leaves_the_bounds(shop, table, learner):
    shop.write(d__json={"malformed": "drop", "fields": NUMBERS}, train__csv=table, new__csv="x\n0.1\nnan\n1e9\nwhat\n")
    done = predict(shop, "--points", "new.csv", "--learner", learner, "--json", target="y", eps="1")
    assert done.code == 0, done.err
    assert len(done.json["predictions"]) == 4
    assert all(0 <= each <= 10 for each in done.json["predictions"])
    assert not any(value in done.out + done.err for value in PRIVATE)


def test_predictions_of_one_table_and_of_none_look_the_same_but_for_their_values(shop):
    """Neither exit code, nor messages, nor the record's fields tell what the rows were."""
    ended = []
    for table in (TRAIN, EMPTY, ALIKE):
        shop.write(train__csv=table)
        done = predict(shop, "--points", "new.csv", "--n", "400", "--json", eps="1")
        record = done.json
        del record["predictions"]
        ended.append((done.code, done.err, record))
    assert ended[0] == ended[1] == ended[2]


PLACES = {
    "malformed": "drop",
    "fields": [
        {"name": axis, "type": "integer", "dpqr": {"edges": [0, 1, 2, 3, 4], "outside": "clip", "otherwise": "drop"}}
        for axis in ("east", "north")
    ]
    + [{"name": "mine", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}}],
}
CORNERS = [(0, 0, "yes"), (3, 3, "yes"), (0, 3, "no"), (3, 0, "no")]
"""Opposite corners: no linear function tells them apart."""


@pytest.mark.parametrize(
    "kernel",
    thinned([("gaussian",), ("gaussian", "--features", "300", "--bandwidth", "0.5"), ("polynomial",)], 3),
    ids=["exact", "random", "polynomial"],
)
def test_a_kernel_learns_what_is_not_linear_and_its_model_is_applied_with_the_same_features(shop, kernel):
    rows = "".join(f"{east},{north},{mine}\n" for east, north, mine in CORNERS * 500)
    points = "".join(f"{east},{north}\n" for east, north, _ in CORNERS)
    shop.write(d__json=PLACES, train__csv="east,north,mine\n" + rows, new__csv="east,north\n" + points)
    more = ("--release", "function", "--delta", "1e-6", "--n", "2000", "--lambda", "0.0003", "--seed", "4")
    done = predict(shop, *more, "--kernel", *kernel, "--out", "model.json", target="mine")
    assert done.code == 0, done.err
    done = shop.run("predict", "--model", "model.json", "--points", "new.csv")
    assert done.out.split() == [mine for _, _, mine in CORNERS], done.err


@pytest.mark.slow
def test_a_public_number_of_few_rows_is_learned_from_by_the_kernel_itself(shop):
    wide = {
        "malformed": "drop",
        "fields": [PLACES["fields"][0] | {"name": name} for name in "abcdef"] + [PLACES["fields"][2]],
    }
    for field in wide["fields"]:
        field["dpqr"] = field["dpqr"] | {"null": "drop"}
    header = ",".join("abcdef")
    shop.write(
        d__json=wide,
        train__csv=f"{header},mine\n" + "0,0,0,0,0,0,yes\n3,3,3,3,3,3,no\n" * 50,
        new__csv=f"{header}\n0,0,0,0,0,0\n3,3,3,3,3,3\n",
    )
    more = ("--kernel", "gaussian", "--neighbours", "replace", "--lambda", "0.01", "--points", "new.csv")
    done = predict(shop, *more, "--n", "100", target="mine", eps="100")
    assert (done.code, done.out.split()) == (0, ["yes", "no"]), done.err
    assert "bandwidth 1, exact" in done.err
    assert "random features" in predict(shop, *more, "--n", "5000", "--dry-run", target="mine").out
    shop.write(new__csv=f"{header}\n" + "0,0,0,0,0,0\n3,3,3,3,3,3\n" * 20)
    at_once = predict(shop, *more, "--n", "100", "--delta", "1e-6", target="mine", eps="100")
    assert (at_once.code, at_once.out.split()) == (0, ["yes", "no"] * 20), at_once.err
    assert "the function at 40 points at once, by one path of its Gaussian process" in " ".join(at_once.err.split())


STREAM = ("--learner", "online", "--neighbours", "replace")


def online(shop, *more, n="40", table="x,y\n" + "0.5,2\n2.5,9\n" * 20, fields=NUMBERS):
    fields = [field | {"dpqr": field["dpqr"] | {"null": "drop"}} for field in fields]
    shop.write(d__json={"malformed": "drop", "fields": fields}, train__csv=table, new__csv="x\n0.1\n2.9\n")
    return predict(shop, "--points", "new.csv", *STREAM, "--n", n, *more, target="y")


def test_a_stream_of_predictions_is_paid_for_as_a_whole(shop):
    done = online(shop, "--releases", "3", "--out", "p.csv")
    assert done.code == 0, done.err
    lines = (shop.path / "p.csv").read_text().splitlines()
    assert lines[0] == '"release","prediction"'
    assert [line.split(",")[0] for line in lines[1:]] == list("112233")
    record = json.loads((shop.path / "p.csv.record.json").read_text())
    assert sum(event["count"] for event in record["events"]) == 6
    assert record["plan"]["learner"]["theta"] == "3/4"


def test_a_stream_of_persons_and_one_with_dropped_rows(shop):
    table = "x,y,who\n" + "".join(f"{k % 3 + 0.5},{k % 10},{k % 9}\n" for k in range(40)) + "what,3,1\n"
    assert online(shop, "--unit", "who", "--max-rows", "2", n="9", table=table).code == 0
    assert online(shop, n="41", table=table).code == 0


def test_a_column_of_slots_lets_records_come_and_go(shop):
    fields = [*NUMBERS, {"name": "day", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]
    fields = [
        field | {"dpqr": field.get("dpqr", {"width": 1}) | {"null": "drop", "otherwise": "drop"}} for field in fields
    ]
    rows = "".join(f"{x},{y},{number % 10}\n" for number in range(40) for x, y in ((0.5, 2), (2.5, 9)))
    shop.write(d__json={"malformed": "drop", "fields": fields}, train__csv="x,y,day\n" + rows, new__csv="x,day\n1,9\n")
    stream = ("--learner", "online", "--slots", "day", "--points", "new.csv")
    for more in ((), ("--releases", "2"), ("--neighbours", "replace", "--n", "80")):
        done = predict(shop, *stream, *more, target="y")
        assert done.code == 0, done.err
        assert "slots by 'day'" in done.err
    assert predict(shop, *stream[:2], "--slots", "y", "--points", "new.csv", target="y").code == 2
    assert predict(shop, "--slots", "day", "--points", "new.csv", target="y").code == 2


@pytest.mark.parametrize(
    ("more", "drawn"), slow_but({0}, [(("--n", "400"), "permute-and-flip"), (("--delta", "1e-6"), "exponential")])
)
def test_a_tuned_lambda_is_paid_for(shop, more, drawn):
    done = predict(shop, "--points", "new.csv", "--tune", "0.2", "--json", *more)
    assert done.code == 0, done.err
    assert done.json["events"][-2]["kind"] == drawn
    assert done.json["factor"] in ("1/16", "1/4", "1", "4", "16")
    assert "one of 5 lambdas" in done.err


@pytest.mark.slow
def test_descent_and_means_of_parts_predict_and_say_what_they_promise(shop):
    for more in (("--method", "descent"), ("--parts", "4"), ("--method", "descent", "--parts", "4"), ("--radius", "5")):
        done = predict(shop, "--points", "new.csv", "--n", "400", *more, "--json")
        assert done.code == 0, done.err
        assert done.json["noise_deviation"] > 0


AGGREGATE = ("--points", "new.csv", "--learner", "aggregate", "--parts", "9")
CALL = "subprocess.Popen(args='touch PWNED', shell=True)"


def test_a_trusted_base_is_not_touched_by_a_dry_run(shop):
    before = shop.everything()
    trusted = ("--base", CALL, "--trust", "subprocess.Popen")
    done = predict(shop, *AGGREGATE, *trusted, "--dry-run")
    assert done.code == 0, done.err
    assert shop.everything() == before
    assert "the plan was made without a look at it" in " ".join(done.out.split())


@pytest.mark.slow
def test_a_trusted_base_runs_in_processes_of_its_own_and_is_named(shop):
    base = ("--base", "support.third_party_estimators.Counting", "--trust", "support.third_party_estimators.Counting")
    done = predict(shop, *AGGREGATE, *base, "--out", "p.csv")
    assert done.code == 0, done.err
    record = json.loads((shop.path / "p.csv.record.json").read_text())
    assert record["plan"]["learner"]["base"] == "support.third_party_estimators.Counting"
    assert any("a third party's, vouched for by --trust" in note for note in record["plan"]["notes"])


@pytest.mark.slow
def test_a_base_of_scikit_learn_needs_no_trust(shop):
    pytest.importorskip("sklearn")
    done = predict(shop, *AGGREGATE, "--base", "sklearn.tree.DecisionTreeClassifier(max_depth=3)")
    assert done.code == 0, done.err
    assert done.out.splitlines()[:2] == ["yes", "no"]


@pytest.mark.parametrize(
    ("given", "says"),
    slow_but(
        {0},
        [
            ("sklearn.tree.DecisionTreeClassifier(max_depth='deep')", "'max_depth' parameter"),
            ("sklearn.tree.DecisionTreeClassifier(n_jobs=2)", "n_jobs is not taken"),
            ("sklearn.tree.DecisionTreeClassifier(depth=2)", "no argument 'depth'"),
            ("sklearn.tree.DecisionTreeRegressor()", "it predicts numbers, and the target 'buys' holds labels"),
        ],
    ),
)
def test_wrong_arguments_of_a_known_base(shop, given, says):
    pytest.importorskip("sklearn")
    done = predict(shop, *AGGREGATE, "--base", given)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert says in done.err


def test_predictions_over_a_learned_domain_state_what_that_cost_and_who_paid(shop):
    whom = "one row of the table added or removed (the number of rows is private)"
    entry = {"dataset": "visits", "entry": 3, "seal": "0" * 64, "epsilon": "0.5", "delta": "1e-7"}
    learned = {"columns": ["sex"], "epsilon": "0.5", "delta": "1e-7", "unit": whom, "ledger": [entry]}
    shop.write(d__json=DOMAIN | {"learned": learned})
    done = predict(shop, "--points", "new.csv", "--n", "400", "--out", "p.csv")
    in_all = "epsilon 50.5 and delta 1e-7"
    paid = "paid by entry 3 of dataset 'visits'"
    assert f"{in_all}: epsilon 0.5 and delta 1e-7 of it to learn the domain (sex), {paid}" in " ".join(done.err.split())
    record = json.loads((shop.path / "p.csv.record.json").read_text())
    assert record["guarantee"].endswith(f"({paid}), with epsilon 0.5 and delta 1e-7 more: {in_all} in all.")
    assert record["plan"]["whole"]["epsilon"]["exact"] == "101/2"
    assert shop.run("verify", "p.csv").code == 0
    assert "with what was learned first" in shop.run("label", "p.csv").out
    others = learned | {"unit": "one person"}
    shop.write(d__json=DOMAIN | {"learned": others})
    done = predict(shop, "--points", "new.csv", "--n", "400", "--json")
    assert "whole" not in json.loads(done.out)["plan"]
    assert "for one person, which adds to that." in json.loads(done.out)["guarantee"]
