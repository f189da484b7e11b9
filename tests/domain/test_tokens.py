import pytest

from dpqr.domain.predicates import tokens
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json", "$.queries[0].where")


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(text, PLACE)[:-1]]


def test_words_quotes_and_numbers() -> None:
    assert kinds("education-num>=-1.5e2 AND \"in\"\"come>50K\" = 'it''s'") == [
        ("column", "education-num"),
        ("symbol", ">="),
        ("number", "-1.5e2"),
        ("keyword", "and"),
        ("column", 'in"come>50K'),
        ("symbol", "="),
        ("text", "it's"),
    ]


def test_quoted_keywords_are_columns() -> None:
    assert kinds('`and` "Not" not') == [("column", "and"), ("column", "Not"), ("keyword", "not")]


def test_synonyms() -> None:
    assert kinds("a==1<>2") == [
        ("column", "a"),
        ("symbol", "="),
        ("number", "1"),
        ("symbol", "!="),
        ("number", "2"),
    ]


def test_names_may_use_any_letters() -> None:
    assert kinds("größe_2 = .5") == [("column", "größe_2"), ("symbol", "="), ("number", ".5")]


def test_positions_count_from_one() -> None:
    assert [token.start for token in tokens("a = 'b'", PLACE)] == [1, 3, 5, 8]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 'open", "at character 5: the quote ' is never closed"),
        ('"open', 'at character 1: the quote " is never closed'),
        ("`", "at character 1: the quote ` is never closed"),
        ("a > 5 & b", "at character 7: '&' has no meaning here"),
        ("a && b", "at character 3: '&' has no meaning here; write `and`"),
        ("a || b", "at character 3: '|' has no meaning here; write `or`"),
        ("! a", "at character 1: '!' has no meaning here; write `not`"),
        ("a >= 2024-03-01", "at character 6: a date stands in single quotes, as '2024-12-31'"),
        ("a in (03/11/2024)", "at character 7: a date stands in single quotes, as '2024-12-31'"),
        ("a ; b", "at character 3: ';' has no meaning here"),
        ("a = 1" + " " * 30_000, "longer than 20000 characters"),
    ],
)
def test_unreadable_text_is_refused_with_its_character(text: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        tokens(text, PLACE)
    assert str(caught.value).startswith("q.json: $.queries[0].where: ")
    assert expected in str(caught.value)
