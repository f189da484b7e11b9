import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.values import replace
from dpqr.tables.limits import Limits
from dpqr.tables.policy import (
    BUILT_IN,
    Policy,
    PolicyChange,
    Source,
    known_encoding,
    require_stricter,
    resolve_policy,
    uncovered_bits,
)

FIXED = Policy(records=1000, bytes=2**30, memory=2**29, delimiter=";", encoding="cp1252", counts="count", fail=True)
OTHERWISE = {
    "records": 999,
    "bytes": 2**29,
    "memory": 2**28,
    "delimiter": ",",
    "encoding": "utf-16",
    "counts": "income",
}
NAMES = {
    "records": "--max-records",
    "bytes": "--max-bytes",
    "memory": "--max-memory",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "counts": "--counts",
}


def test_the_built_in_limits_are_those_that_tables_are_read_under():
    assert (BUILT_IN.records, BUILT_IN.bytes, BUILT_IN.memory) == (Limits().records, Limits().bytes, Limits().memory)


def test_what_is_not_stated_is_the_policys():
    assert resolve_policy(FIXED, Policy()) == replace(FIXED, fail=False)
    assert resolve_policy(FIXED, Policy(fail=True)) == FIXED
    assert resolve_policy(Policy(), Policy()) == Policy()
    for name in ("records", "bytes", "memory"):
        assert resolve_policy(Policy(), Policy(**{name: getattr(BUILT_IN, name)})) == Policy()
    with pytest.raises(BudgetRefused, match="a rule `fail`"):
        resolve_policy(Policy(), Policy(fail=True))
    with pytest.raises(BudgetRefused, match=r"--max-records 39: the owner of the budget fixed 2\^36"):
        resolve_policy(Policy(), Policy(records=39))


@in_one_test("policy", [FIXED, Policy()])
@pytest.mark.parametrize("name", NAMES)
def test_who_states_the_same_passes_and_who_states_otherwise_is_refused_and_told_the_policy(policy, name):
    assert resolve_policy(FIXED, Policy(**{name: getattr(FIXED, name)})) == replace(FIXED, fail=False)
    with pytest.raises(BudgetRefused) as refused:
        resolve_policy(policy, Policy(**{name: OTHERWISE[name]}))
    first, second = str(refused.value).split("\n")
    assert first.startswith(f"{NAMES[name]} ")
    assert "the owner of the budget fixed" in first
    assert second.startswith(f"leave {NAMES[name]} out")


def test_no_request_that_passes_reads_the_table_in_another_way():
    """All requests with one option stated, from a grid of values: they pass with one and the same reading, or not."""
    grid = {"records": [1, 1000, 2**36], "bytes": [1, 2**30, 2**40], "delimiter": [";", ","], "counts": ["count", "x"]}
    grid["encoding"] = ["utf-8", "cp1252", "ascii"]
    for policy in (FIXED, Policy(), replace(FIXED, counts=None)):
        found = set()
        for name, values in grid.items():
            for value in values:
                try:
                    found.add(resolve_policy(policy, Policy(**{name: value})))
                except BudgetRefused:
                    continue
        assert found <= {replace(policy, fail=False)}


LOOSER = [
    {"records": 1001},
    {"records": None},
    {"bytes": 2**30 + 1},
    {"memory": 2**30},
    {"delimiter": ","},
    {"delimiter": None},
    {"encoding": "utf-16"},
    {"encoding": None},
    {"counts": "other"},
    {"counts": None},
]


@in_one_test("change", LOOSER)
def test_a_policy_never_becomes_looser(change):
    with pytest.raises(BudgetRefused, match="changes only towards stricter"):
        require_stricter(FIXED, replace(FIXED, **change))


def test_a_policy_may_become_stricter_and_the_default_one_never_looser():
    for stated in ({"records": 1}, {"bytes": 2**30 - 1}, {"memory": 2**28}, {"fail": False}, {}):
        require_stricter(FIXED, replace(FIXED, **stated))
    for stated in ({"records": 2**36}, {"records": 5}, {"bytes": 1}, {"delimiter": "\t"}, {"encoding": "cp1252"}):
        require_stricter(Policy(), Policy(**stated))
    for stated in ({"bytes": 2**41}, {"memory": 2**33}, {"counts": "x"}, {"fail": True}):
        with pytest.raises(BudgetRefused):
            require_stricter(Policy(), Policy(**stated))


def test_what_is_no_policy_is_refused():
    wrong = {
        "records": [0, 1.0], "bytes": [-1], "memory": [True], "delimiter": ["", ";;", "a", '"', "\n", "\u3000"],
        "encoding": ["", "rot13", "utf-7", "base64", "a\0b"], "counts": ["", "a\nb"],
    }  # fmt: skip
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(UsageFault):
                Policy(**{name: value})


def test_a_source_is_told_by_place_table_and_query():
    one = Source(address="duckdb:/a?table=t")
    others = [
        Source(address="duckdb:/b?table=t"),
        Source(address="duckdb:/a?table=u"),
        Source(address="duckdb:/a?table=t", query="SELECT 1"),
        Source(address="duckdb:/a", query="?table=t"),
    ]
    assert len({each.digest for each in (one, *others)}) == 5
    assert one.digest == Source(address="duckdb:/a?table=t").digest
    assert Source(address="spark:", query="SELECT *\n FROM t").words == "spark:, query: SELECT * FROM t"


def test_a_source_can_be_shown():
    for parts in (("a\nb", ""), ("a\x1b[2J", ""), ("a", "SELECT \0"), ("", "SELECT 1")):
        with pytest.raises(UsageFault):
            Source(address=parts[0], query=parts[1])


def test_every_stated_limit_and_fail_are_named_as_bits():
    sentences = uncovered_bits(FIXED)
    assert len(sentences) == len(Policy.__struct_fields__) - len(
        {"delimiter", "encoding", "counts", "learning", "approval", "source"}
    )
    assert all("one bit that the guarantee does not cover" in sentence for sentence in sentences)
    assert "more than 1000 records (--max-records)" in sentences[0]
    assert uncovered_bits(Policy()) == ()
    assert uncovered_bits(Policy(delimiter=";", encoding="cp1252")) == ()
    assert len(uncovered_bits(Policy(fail=True))) == 1


def test_utf_8_may_be_stated_where_no_encoding_is_and_an_encoding_has_one_name():
    assert resolve_policy(Policy(), Policy(encoding="utf-8")) == Policy()
    with pytest.raises(BudgetRefused, match="--encoding 'utf-8': the owner of the budget fixed 'cp1252'"):
        resolve_policy(FIXED, Policy(encoding="utf-8"))
    assert known_encoding("Windows-1252") == "cp1252"
    assert known_encoding("latin1") == known_encoding("L1") == "iso8859-1"
    assert known_encoding("klingon") == "klingon"


def test_a_rule_of_two_persons_stays():
    require_stricter(Policy(), Policy(approval=True))
    with pytest.raises(BudgetRefused, match="asks for approvals, and stays so"):
        require_stricter(Policy(approval=True), Policy())


CHANGES = {
    "records": 7,
    "bytes": 7,
    "memory": 7,
    "delimiter": ";",
    "encoding": "latin-1",
    "fail": False,
    "approval": True,
}


@in_one_test("name", CHANGES)
def test_a_change_changes_what_it_states_and_nothing_else(name):
    """Whatever was stated before; approvals that are asked for stay asked for."""
    every = Policy(
        records=9, bytes=9, memory=9, delimiter=",", encoding="cp1252", counts="n", fail=True, approval=False
    )
    for before in (Policy(), every, replace(every, approval=True)):
        assert PolicyChange(records=5, fail=False).applied(before) == replace(before, records=5, fail=False)
        after = PolicyChange(**{name: CHANGES[name]}).applied(before)
        assert after == replace(before, **{name: CHANGES[name]})
        assert PolicyChange().applied(before) == before
