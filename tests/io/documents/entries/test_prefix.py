import pytest


def test_each_row_counts_the_bins_up_to_its_own(ask, database) -> None:
    document = ask({"prefix": "age", "by": ["sex"]})
    (block,) = document.workload.blocks
    assert block.name == "prefix(age) by sex"
    assert block.factors[1].labels[:2] == ("<= 0", "<= 1")
    data = database(document.domain)
    answers = block.answer(data.histogram).reshape(4, 10)
    for sex in range(4):
        for age in range(10):  # code 10 is the null cell: in no prefix
            expected = data.total(
                lambda cell, sex=sex, age=age: cell["sex"][0] == sex and cell["age"][0] <= min(age, 9)
            )
            assert answers[sex, age] == expected


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("hours", ("<= 19", "<= 39", "<= 60")),
        ("income", ("< 1500", "<= 4000")),
        ("day", ("<= 2024-03-31", "<= 2024-06-30", "<= 2024-09-30", "<= 2024-12-31")),
    ],
)
def test_labels_say_which_values_are_counted(column: str, labels: tuple[str, ...], ask) -> None:
    (block,) = ask({"prefix": column}).workload.blocks
    assert block.factors[0].labels == labels


def test_bins_closed_on_the_right_own_their_edge(ask) -> None:
    domain = {"fields": [{"name": "x", "type": "number", "dpqr": {"edges": [0, 0.5, 1], "closed": "right"}}]}
    (block,) = ask({"prefix": "x"}, domain=domain).workload.blocks
    assert block.factors[0].labels == ("<= 0.5", "<= 1")


def test_codes_have_an_order(ask) -> None:
    (block,) = ask({"prefix": "k"}, domain={"k": 3}).workload.blocks
    assert block.factors[0].labels == ("<= 0", "<= 1", "<= 2")
