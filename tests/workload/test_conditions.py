import itertools
from collections import Counter

import numpy as np
import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload.matrix import Dense, Identity, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.workload import row_names


def one(document):
    (block,) = document.workload.blocks
    return block


def test_a_conjunction_is_a_product_of_one_row_factors(ask, database) -> None:
    document = ask({"where": "age >= 3 and age <= 5 and sex in ('F', 'X') and not (rich = true or hours < 20)"})
    block = one(document)
    assert {tuple(document.domain.names[axis] for axis in factor.axes) for factor in block.factors} == {
        ("age",),
        ("sex",),
        ("rich",),
        ("hours",),
    }
    assert all(factor.matrix.rows == 1 for factor in block.factors)
    data = database(document.domain)
    expected = data.total(
        lambda cell: (
            cell["age"][1] in ("3", "4", "5")
            and cell["sex"][1] in ("F", "X")
            and cell["rich"][1] == "false"
            and cell["hours"][1] in ("[20, 40)", "[40, 60]")
        )
    )
    assert block.answer(data.histogram).tolist() == [expected]


def test_or_ties_columns_into_one_factor(ask, database) -> None:
    document = ask({"where": "(age < 3 or sex = 'M') and rich = true"})
    block = one(document)
    assert sorted(len(factor.axes) for factor in block.factors) == [1, 2]
    data = database(document.domain)
    expected = data.total(
        lambda cell: (cell["age"][1] in ("0", "1", "2") or cell["sex"][1] == "M") and cell["rich"][1] == "true"
    )
    assert block.answer(data.histogram).tolist() == [expected]


def test_negations_leave_own_cells_out(ask, database) -> None:
    document = ask({"where": "sex != 'M'"}, {"where": "not sex = 'M' "}, {"where": "sex is not null"})
    data = database(document.domain)
    first, second, third = (block.answer(data.histogram).tolist()[0] for block in document.workload.blocks)
    assert first == second == data.total(lambda cell: cell["sex"][1] in ("F", "X"))
    assert third == data.total(lambda cell: cell["sex"][1] != "(null)")


def test_by_columns_are_kept_apart(ask, database) -> None:
    document = ask({"where": "age >= 8", "by": ["sex", "rich"]})
    block = one(document)
    assert [isinstance(factor.matrix, Identity) for factor in block.factors] == [True, True, False]
    data = database(document.domain)
    answers = block.answer(data.histogram).reshape(4, 2)
    for sex in range(4):
        for rich in range(2):
            expected = data.total(
                lambda cell, sex=sex, rich=rich: (
                    cell["age"][1] in ("8", "9") and (cell["sex"][0], cell["rich"][0]) == (sex, rich)
                )
            )
            assert answers[sex, rich] == expected


def test_a_by_column_of_the_predicate_has_one_row_a_true_cell(ask, database) -> None:
    document = ask({"where": "age >= 3 and age < 6 or sex = 'F' and age = 9", "by": ["rich", "age"]})
    block = one(document)
    plain, group = block.factors
    assert isinstance(plain.matrix, Identity)
    assert group.labels == ("age=3", "age=4", "age=5", "age=9")
    data = database(document.domain)
    answers = block.answer(data.histogram).reshape(2, 4)
    for row, age in enumerate((3, 4, 5, 9)):
        expected = data.total(
            lambda cell, age=age: cell["rich"][0] == 1 and cell["age"][0] == age and (age < 6 or cell["sex"][1] == "F")
        )
        assert answers[1, row] == expected


def test_labels_name_every_by_column_of_a_group(ask) -> None:
    document = ask({"where": "sex = 'F' or rich = true", "by": ["rich", "sex"]})
    (factor,) = one(document).factors
    assert factor.labels[0] == "sex=F, rich=false"
    assert len(factor.labels) == 1 + 4  # only F where not rich, every sex where rich


def test_one_record_moves_one_predicate_by_one(ask) -> None:
    document = ask({"where": "age < 3 or sex = 'M'", "by": ["sex"]})
    for neighbours in Neighbours:
        unit = PrivacyUnit(neighbours=neighbours)
        expected = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        assert sensitivity([one(document)], Norm.L1, unit) == expected


def test_a_large_group_is_sparse_and_a_larger_one_refused(ask) -> None:
    sizes = {"a": 2000, "b": 2000}
    block = one(ask({"where": "a = 3 or b = 5", "by": ["a"]}, domain=sizes))
    assert isinstance(block.factors[0].matrix, Sparse)
    assert block.factors[0].matrix.csr.sum() == 2000 + 1999
    with pytest.raises(
        DocumentError, match=r"where: ties 'a', 'b' together by or, not or by: 9000000 cells, more than"
    ):
        ask({"where": "a = 3 or b = 5"}, domain={"a": 3000, "b": 3000})


def test_columns_of_a_large_domain_are_not_multiplied_out(ask) -> None:
    sizes = {f"c{index}": 1000 for index in range(12)}
    text = " and ".join(f"c{index} < 500" for index in range(12))
    block = one(ask({"where": text}, domain=sizes))
    assert block.cells == 10**36
    assert all(isinstance(factor.matrix, Dense) and factor.matrix.cells == 1000 for factor in block.factors)


def test_coefficients_are_zero_or_one(ask) -> None:
    document = ask({"where": "age < 3 or not (sex = 'M' and age > 5)", "by": ["age"]})
    (factor,) = one(document).factors
    assert set(np.unique(factor.matrix.coefficients)) == {0, 1}


COLUMNS = ["age", "hours", "sex", "rich"]
SIZES = {"age": 10, "hours": 3, "income": 2, "sex": 3, "home region": 2, "day": 4, "rich": 2}


def blocks(ask, **asked):
    return ask({"conjunctions": {"random": 400, "seed": 1, **asked}})


def comparisons(document):
    """Each query as {column: (first cell, one after the last)}."""
    names = document.domain.names
    for block in document.workload.blocks:
        for row in range(block.rows):
            yield {
                names[factor.axes[0]]: (int(factor.matrix.starts[row]), int(factor.matrix.stops[row]))
                for factor in block.factors
            }


def test_one_block_for_every_set_of_columns(ask) -> None:
    document = blocks(ask, columns=COLUMNS)
    found = [block.axes for block in document.workload.blocks]
    sets = [axes for ways in (2, 3, 4) for axes in itertools.combinations(range(4), ways)]
    assert sorted(found) == sorted(sets)
    assert document.workload.rows == 400
    for block in document.workload.blocks:
        assert block.rowwise
        assert all(isinstance(factor.matrix, Ranges) for factor in block.factors)
    names = {block.name for block in document.workload.blocks}
    assert "conjunctions(400 random, seed 1) on age,sex" in names
    assert len(names) == len(sets)


def test_answers_are_those_of_the_comparisons(ask, database) -> None:
    document = blocks(ask, columns=COLUMNS, ways=[1, 3], random=40)
    data = database(document.domain)
    answers = np.concatenate([block.answer(data.histogram) for block in document.workload.blocks])
    expected = [
        data.total(
            lambda cell, asked=asked: all(start <= cell[name][0] < stop for name, (start, stop) in asked.items())
        )
        for asked in comparisons(document)
    ]
    assert answers.tolist() == expected


def test_labels_are_compared_for_equality_and_ordered_columns_by_every_sign(ask) -> None:
    """Own cells, such as the null of `age` and `sex`, are in no comparison."""
    document = blocks(ask, random=4000)
    found = {name: set() for name in SIZES}
    for asked in comparisons(document):
        for name, ends in asked.items():
            found[name].add(ends)
    for name, size in SIZES.items():
        equal = {(cell, cell + 1) for cell in range(size)}
        below, above = {(0, cell + 1) for cell in range(size - 1)}, {(cell + 1, size) for cell in range(size - 1)}
        ordered = name in ("age", "hours", "day")
        assert found[name] == (equal | below | above if ordered else equal)


def test_columns_and_ways_are_drawn_uniformly(ask) -> None:
    document = blocks(ask, random=30_000, columns=COLUMNS, ways=[2, 3])
    sizes = Counter(len(asked) for asked in comparisons(document))
    sets = Counter(tuple(asked) for asked in comparisons(document))
    assert abs(sizes[2] - 15_000) < 6 * 87
    assert all(abs(count - 2_500) < 6 * 50 for asked, count in sets.items() if len(asked) == 2)
    assert all(abs(count - 3_750) < 6 * 60 for asked, count in sets.items() if len(asked) == 3)
    assert len(sets) == 6 + 4


def test_they_can_be_drawn_again_from_their_seed(ask) -> None:
    first, again, other = ([*comparisons(blocks(ask, seed=seed))] for seed in (4, 4, 5))
    assert first == again != other


def test_one_comparison_each_is_no_pair(ask) -> None:
    document = blocks(ask, ways=[1, 1], columns=["rich", "sex"])
    assert {block.axes for block in document.workload.blocks} == {(0,), (1,)}


def test_more_queries_than_keys_are_drawn_at_once(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpqr.workload.conditions.CHUNK", 100)
    assert blocks(ask, columns=COLUMNS).workload.rows == 400


def test_too_many_sets_of_columns_are_refused(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpqr.workload.conditions.MAX_BLOCKS", 10)
    with pytest.raises(Exception, match=r"queries\[0\]\.conjunctions: they look at more than 10 sets of columns; list"):
        blocks(ask, columns=COLUMNS)


def test_every_row_is_named_by_its_comparisons(ask) -> None:
    document = blocks(ask, columns=["age", "sex", "hours"], ways=[3, 3], random=60)
    (block,) = document.workload.blocks
    names = row_names(block)
    expected = {(0, 1): "[0, 20)", (1, 2): "[20, 40)", (2, 3): "[40, 60]", (0, 2): "[0, 40)", (1, 3): "[20, 60]"}
    for row, asked in enumerate(comparisons(document)):
        (first, stop), (sex, _) = asked["age"], asked["sex"]
        age = f"{first}" if stop == first + 1 else f"[{first}, {stop - 1}]"
        text = f"age in {age}, sex = {'FMX'[sex]}, hours in {expected[asked['hours']]}"
        assert names.details[names.detail[row]] == text


def test_ordered_labels_are_compared_by_every_sign(ask) -> None:
    school = {"name": "school", "type": "string", "categories": ["none", "primary", "phd"], "categoriesOrdered": True}
    domain = {"fields": [school, {"name": "b", "type": "boolean"}]}
    asked = {"conjunctions": {"random": 200, "seed": 1, "ways": [1, 1], "columns": ["school"]}}
    (block,) = ask(asked, domain=domain).workload.blocks
    equal = {"school = none", "school = primary", "school = phd"}
    assert set(block.factors[0].labels) == equal | {"school in [none, primary]", "school in [primary, phd]"}
