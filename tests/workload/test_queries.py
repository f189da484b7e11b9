from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.domain_file import read_domain
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.workload import entry
from dpqr.workload.entry import OTHER_NAMES, coarsest_grid, integer_matrix, missing_kind_fault
from dpqr.workload.form import KINDS
from dpqr.workload.matrix import Dense, Identity, Sparse
from dpqr.workload.queries_file import read_queries

SIZES = {"a": 2, "b": 3, "c": 4}


def write(folder: Path, **document) -> Path:
    path = folder / "queries.json"
    path.write_text(json.dumps(document))
    return path


def test_the_domain_is_the_columns_that_are_asked_about(tmp_path: Path) -> None:
    path = write(tmp_path, domain=SIZES, queries=[{"marginal": ["c"]}, {"where": "a = 1", "by": ["c"]}])
    document = read_queries(path)
    assert document.domain.names == ("a", "c")
    assert [block.axes for block in document.workload.blocks] == [(1,), (1, 0)]
    assert document.workload.blocks[0].factors[0].sizes == (4,)


def test_where_the_domain_may_stand_and_a_given_one_wins(tmp_path: Path) -> None:
    queries = [{"marginal": ["a"]}]
    (tmp_path / "domain.json").write_text(json.dumps({"a": 5}))
    inside = read_queries(write(tmp_path, domain={"a": 5}, queries=queries))
    named = read_queries(write(tmp_path, domain="domain.json", queries=queries))
    given = read_queries(write(tmp_path, queries=queries), read_domain({"a": 5}))
    assert inside.domain == named.domain == given.domain
    assert given.notes == ()
    document = read_queries(write(tmp_path, domain="nowhere.json", queries=queries), read_domain({"a": 7}))
    assert document.domain.shape == (7,)
    assert document.notes == ("the domain in the queries document is not used: another is given",)
    with pytest.raises(UsageFault, match="cannot read"):
        read_queries(tmp_path / "none.json")


def test_without_a_domain_the_command_that_starts_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        read_queries(write(tmp_path, queries=[{"marginal": ["a"]}]))
    assert str(caught.value).startswith("queries.json: $: there is no domain")
    assert "`dpqr domain TABLE`" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 2


def test_errors_of_the_domain_are_placed_in_their_own_file(tmp_path: Path) -> None:
    queries = [{"marginal": ["a"]}]
    with pytest.raises(DocumentError, match=r"^queries\.json: \$\.domain\.a: a size"):
        read_queries(write(tmp_path, domain={"a": 0}, queries=queries))
    with pytest.raises(DocumentError, match=r"^queries\.json: \$\.domain: cannot read"):
        read_queries(write(tmp_path, domain="none.json", queries=queries))
    (tmp_path / "domain.json").write_text('{"a": 0}')
    with pytest.raises(DocumentError, match=r"^domain\.json: \$\.a: a size"):
        read_queries(write(tmp_path, domain="domain.json", queries=queries))


def test_names_and_weights(tmp_path: Path) -> None:
    entries = [
        {"marginal": ["a"], "name": "first", "weight": 0.1},
        {"prefix": "b", "by": ["a"]},
        {"where": "a  =\n 1"},
        {"ranges": "c", "random": 3, "seed": 1},
        {"conjunctions": {"random": 1, "seed": 1, "ways": [2, 2], "columns": ["a", "b"]}},
        {"conjunctions": {"random": 1, "seed": 1, "ways": [2, 2], "columns": ["a", "b"]}, "name": "some"},
        {"sum": "c"},
    ]
    blocks = read_queries(write(tmp_path, domain=SIZES, queries=entries)).workload.blocks
    assert [block.name for block in blocks] == [
        "first",
        "prefix(b) by a",
        "where(a = 1)",
        "ranges(c, 3 random, seed 1)",
        "conjunctions(1 random, seed 1) on a,b",
        "some on a,b",
        "sum(c)",
    ]
    assert blocks[0].weight == Fraction(1, 10)
    assert blocks[1].weight == 1


def test_only_the_total_keeps_one_column(tmp_path: Path) -> None:
    document = read_queries(write(tmp_path, domain=SIZES, queries=[{"marginal": []}]))
    assert document.domain.names == ("a",)
    assert document.workload.blocks[0].axes == ()
    assert document.notes == ("only the total is asked for: the rules of column 'a' say which rows count",)


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, domain=SIZES, queries=[{"ranges": ["b", "c"], "random": 20, "seed": 9}])
    first, second = (read_queries(path).workload.blocks[0] for _ in range(2))
    assert [*map(list, first.coefficients())] == [*map(list, second.coefficients())]


def test_what_many_predicates_say_alike_is_made_once_and_answers_as_if_alone(tmp_path: Path) -> None:
    """Wherever it stands in the text; another constant, another kind of it, or a `by` column makes another factor."""
    texts = ["a = 1 and b = 2", "b = 2 and (a = 1)", "b != 2 and a = 1", "b = 1 or c = 3", "c = 3 and b = 2"]
    entries = [{"where": text} for text in texts] + [{"where": "b = 2", "by": ["b"]}, {"where": "b = 2 or c = 3"}]
    together = read_queries(write(tmp_path, domain=SIZES, queries=entries)).workload.blocks
    domain = read_domain(SIZES)
    for each, block in zip(entries, together, strict=True):
        (alone,) = read_queries(write(tmp_path, queries=[each]), domain).workload.blocks
        assert [row.tolist() for row in block.coefficients()] == [row.tolist() for row in alone.coefficients()]
        assert [factor.labels for factor in block.factors] == [factor.labels for factor in alone.factors]
    made = {id(factor.matrix) for block in together for factor in block.factors}
    assert len(made) == len({"a=1", "b=2", "b!=2", "b=1 or c=3", "c=3", "b by b", "b=2 or c=3"})


def test_an_error_names_its_own_entry_and_character_where_others_said_the_same(tmp_path: Path) -> None:
    entries = [{"where": "a = 1 and c = 3"}, {"where": "c = 3 and a = 1 and b = 9"}]
    with pytest.raises(DocumentError) as caught:
        read_queries(write(tmp_path, domain=SIZES, queries=entries))
    assert str(caught.value).startswith("queries.json: $.queries[1].where: no cell of column 'b' holds 9")


def test_a_marginal_keeps_the_order_of_its_columns(ask) -> None:
    document = ask({"marginal": ["sex", "age"]})
    (block,) = document.workload.blocks
    assert block.name == "marginal(sex,age)"
    assert document.domain.names == ("age", "sex")
    assert block.axes == (1, 0)
    assert all(isinstance(factor.matrix, Identity) for factor in block.factors)
    assert block.rows == 4 * 11


def test_no_columns_ask_for_the_total(ask, database) -> None:
    document = ask({"marginal": []}, {"marginal": ["sex"]})
    total = document.workload.blocks[0]
    assert total.name == "total"
    data = database(document.domain)
    assert total.answer(data.histogram).tolist() == [data.total(lambda cell: 1)]


def test_marginals_of_some_columns_and_of_a_list(ask) -> None:
    some = ask({"marginals": {"ways": 2, "columns": ["sex", "age", "rich"]}}).workload.blocks
    assert [block.name for block in some] == ["marginal(sex,age)", "marginal(sex,rich)", "marginal(age,rich)"]
    listed = ask({"marginals": [["sex"], ["age", "sex"], []], "name": "ours", "weight": 2}).workload.blocks
    assert [block.name for block in listed] == ["ours marginal(sex)", "ours marginal(age,sex)", "ours total"]
    assert {block.weight for block in listed} == {2}


@in_one_test("ways", [1, 3, 7])
def test_all_marginals_of_all_columns(ways: int, ask, survey) -> None:
    document = ask({"marginals": {"ways": ways}})
    assert len(document.workload.blocks) == math.comb(7, ways)
    assert {block.axes for block in document.workload.blocks} == set(combinations(range(7), ways))


def test_too_many_marginals_are_refused_before_they_are_made(ask) -> None:
    sizes = {f"c{index}": 2 for index in range(60)}
    with pytest.raises(DocumentError, match=r"\$\.queries\[0\]\.marginals\.ways: makes 118264581564861424 marginals"):
        ask({"marginals": {"ways": 30}}, domain=sizes)


PLACE = Location("q")


def test_unknown_kinds_name_the_way_and_only_a_misspelling_is_fixed() -> None:
    for unknown, words in {
        "average": '{"mean": COLUMN}',
        "Quartiles": '{"quantiles": COLUMN, "at": [',
        "cdf": '{"prefix": COLUMN}',
        "group_by": '{"marginal": [COLUMN, ...]}',
        "std-dev": '{"variance": COLUMN}',
        "margnial": "did you mean 'marginal'?",
        "Sum": "did you mean 'sum'?",
        "": "asks nothing: one of marginal, marginals",
        "xyz": "asks nothing: one of marginal, marginals",
    }.items():
        assert words in missing_kind_fault(unknown, PLACE).faults[0].message
    fix = missing_kind_fault("margnial", PLACE).faults[0].fix
    assert fix is not None
    assert (fix.path, fix.text, fix.key) == ("$.margnial", '"marginal"', True)
    assert missing_kind_fault("average", PLACE).faults[0].fix is None
    assert not set(OTHER_NAMES) & set(KINDS)


@in_one_test(
    ("values", "grid"),
    [(["6", "-4", "0"], "2"), (["1/2", "1/3"], "1/6"), (["0.25", "1"], "0.25"), (["0"], "0"), (["5/7"], "5/7")],
)
def test_the_coarsest_grid(values: list[str], grid: str) -> None:
    numbers = [Fraction(value) for value in values]
    found = coarsest_grid(numbers)
    assert found == Fraction(grid)
    assert all(found and (number / found).denominator == 1 for number in numbers if number)


def test_small_matrices_are_dense_large_ones_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    places = (np.array([0, 2, 2]), np.array([3, 0, 1]), np.array([7, -1, 2]))
    dense = integer_matrix(*places, (3, 5))
    monkeypatch.setattr(entry, "DENSE_ENTRIES", 14)
    sparse = integer_matrix(*places, (3, 5))
    assert isinstance(dense, Dense)
    assert isinstance(sparse, Sparse)
    assert dense.coefficients.tolist() == [[0, 0, 0, 7, 0], [0, 0, 0, 0, 0], [-1, 2, 0, 0, 0]]
    np.testing.assert_array_equal(sparse.csr.toarray(), dense.coefficients)


# Counts of every node of a hierarchy, against the records themselves.

PARENTS = {"F": "known", "M": "known", "X": "other", "known": "all", "other": "all"}
SEX = {
    "name": "sex",
    "type": "string",
    "constraints": {"enum": ["F", "M", "X"]},
    "parent": {"map": PARENTS, "levels": ["group", "top"]},
    "dpqr": {"null": "cell"},
}
DOMAIN = {"fields": [SEX, {"name": "rich", "type": "boolean"}]}


def test_a_block_a_level_counts_the_records_of_every_node(ask, database) -> None:
    document = ask({"hierarchy": "sex", "by": ["rich"]}, domain=DOMAIN)
    data = database(document.domain)
    names = ["hierarchy(sex: top) by rich", "hierarchy(sex: group) by rich", "hierarchy(sex) by rich"]
    assert [block.name for block in document.workload.blocks] == names
    above = {"(null)": "(null)"} | PARENTS
    nodes = {0: ["all", "(null)"], 1: ["known", "other", "(null)"], 2: ["F", "M", "X", "(null)"]}
    for level, block in enumerate(document.workload.blocks):
        answers = np.array(block.answer(data.histogram)).reshape(2, -1)
        for rich in (0, 1):
            for place, node in enumerate(nodes[level]):

                def held(cell, node=node, rich=rich) -> bool:
                    title = cell["sex"][1]
                    return cell["rich"][0] == rich and node in (title, above[title], above.get(above[title]))

                assert answers[rich, place] == data.total(held)


def test_only_records_that_fulfil_a_predicate_count(ask, database) -> None:
    of_one = ask({"hierarchy": "sex", "by": ["rich"], "where": "sex != 'M'", "name": "h"}, domain=DOMAIN)
    data = database(of_one.domain)
    for block, name in zip(of_one.workload.blocks, ("h top", "h group", "h sex"), strict=True):
        held = data.total(lambda cell: cell["sex"][1] in ("F", "X") and cell["rich"][0] in (0, 1))
        assert (block.name, int(block.answer(data.histogram).sum())) == (name, held)
    (country,) = ask({"hierarchy": "sex", "levels": ["top"], "where": "rich = true"}, domain=DOMAIN).workload.blocks
    assert country.name == "hierarchy(sex: top) where rich = true"


def test_levels_are_chosen_and_a_name_is_put_before_each(ask) -> None:
    document = ask({"hierarchy": "sex", "levels": ["sex", "top"], "name": "people", "weight": 3}, domain=DOMAIN)
    assert [(block.name, block.weight) for block in document.workload.blocks] == [("people top", 3), ("people sex", 3)]
    assert document.workload.blocks[0].factors[0].labels == ("all", "(null)")


@in_one_test(
    ("entry", "said"),
    [
        ({"hierarchy": "rich"}, r"\.hierarchy: column 'rich' has no levels above its cells; state its 'parent'"),
        ({"hierarchy": "sexx"}, r"\.hierarchy: the domain has no column 'sexx'; did you mean 'sex'"),
        ({"hierarchy": "sex", "by": ["sex"]}, r"\.by\[0\]: the column 'sex' is what this entry asks about"),
        ({"hierarchy": "sex", "levels": ["grup"]}, r"\.levels\[0\]: 'grup' is no level .* did you mean 'group'"),
        ({"hierarchy": "sex", "levels": ["top", "top"]}, r"\.levels\[1\]: the level 'top' stands twice"),
        ({"hierachy": "sex"}, r"unknown kind 'hierachy'; did you mean 'hierarchy'"),
    ],
)
def test_wrong_entries(ask, entry, said) -> None:
    with pytest.raises(DocumentError, match=said):
        ask(entry, domain=DOMAIN)
