import numpy as np
import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload.matrix import Dense, Identity, Sparse
from dpqr.workload.sensitivity import Norm, sensitivity


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
