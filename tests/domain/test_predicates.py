import random
import re

import pytest
from support.cases import in_one_test

from dpqr.domain.predicates import And, ColumnComparison, Constant, IsFault, Node, Not, Or, parse, tokens
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json", "$.queries[0].where")


def shown(node: Node) -> str:
    """A tree as text, every operator in brackets."""
    match node:
        case ColumnComparison(column, operator, Constant(_, text)):
            return f"{column}{operator}{text}"
        case IsFault(column, fault):
            return f"{column}?{fault}"
        case Not(part):
            return f"!{shown(part)}"
        case And(parts):
            return f"({' & '.join(map(shown, parts))})"
        case Or(parts):
            return f"({' | '.join(map(shown, parts))})"


@in_one_test(
    ("text", "tree"),
    [
        ("a = 1", "a=1"),
        ("a = 1 or b = 2 and c = 3", "(a=1 | (b=2 & c=3))"),
        ("(a = 1 or b = 2) and c = 3", "((a=1 | b=2) & c=3)"),
        ("not a = 1 and b = 2", "(!a=1 & b=2)"),
        ("not (a = 1 and b = 2)", "!(a=1 & b=2)"),
        ("not not a = 1", "!!a=1"),
        ("a != 'x'", "!a=x"),
        ("a in (1, 2)", "(a=1 | a=2)"),
        ("a not in ('x')", "!(a=x)"),
        ("a between 1 and 2 and b = 3", "((a>=1 & a<=2) & b=3)"),
        ("a NOT BETWEEN 1 AND 2", "!(a>=1 & a<=2)"),
        ("a is null or a is not outside", "(a?null | !a?outside)"),
        ("a = true", "a=true"),
        ("a < 1 and a <= 2 and a > 3 and a >= 4", "(a<1 & a<=2 & a>3 & a>=4)"),
    ],
)
def test_trees(text: str, tree: str) -> None:
    assert shown(parse(text, PLACE)) == tree


@in_one_test(
    ("text", "expected"),
    [
        ("", "character 1: expected a column name"),
        ("a", "character 2: expected a comparison"),
        ("a", "got the end; of a truth value write a = true"),
        ("b = 1 and (a or b = 2)", "got 'or'; of a truth value write a = true"),
        ("a =", "character 4: expected a number or 'text', got the end"),
        ("a = b", "expected a number or 'text', got a name; if it is text, write it in single quotes: 'b'"),
        ("5 < a", "character 1: expected a column name"),
        ("'x' = a", "the column comes first"),
        ("a = 1 b = 2", "character 7: expected `and`, `or` or the end, got 'b'"),
        ("a = 1 and", "character 10: expected a column name"),
        ("(a = 1", "character 7: expected `)`, got the end"),
        ("a = 1)", "character 6: expected `and`, `or` or the end"),
        ("a in 1", "expected `(` and a list of constants"),
        ("a in ()", "expected a number or 'text'"),
        ("a in (1 2)", "expected `,` or `)`"),
        ("a in (1", "expected `,` or `)`"),
        ("a between 1 or 2", "expected `and` and the upper end"),
        ("a not = 1", "expected `in` or `between`"),
        ("a is 1", "expected the name of an own cell (null, unparsable"),
        ("a is not", "expected the name of an own cell"),
        ("a is missing", "expected the name of an own cell"),
        ("(" * 60 + "a = 1" + ")" * 60, "nested deeper than 50"),
        ("not " * 60 + "a = 1", "nested deeper than 50"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_character(text: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text, PLACE)
    assert str(caught.value).startswith("q.json: $.queries[0].where: at character ")
    assert expected in str(caught.value)


def refusal(text: str) -> str:
    try:
        parse(text, PLACE)
    except DocumentError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_any_change_of_a_predicate_is_read_or_refused_at_its_character() -> None:
    sound = re.findall(r"\S+", "not ( a >= 3 or b in ( 'x' , 'y' ) ) and a between 1 and 2 and b is not null")
    chance = random.Random(5)
    refused = 0
    for _ in range(3000):
        words = list(sound)
        for _ in range(chance.choice((1, 2))):
            words[chance.randrange(len(words))] = chance.choice([*sound, "", ";", "'"])
        message = refusal(" ".join(words))
        refused += bool(message)
        assert not message or message.startswith("q.json: $.queries[0].where: at character "), words
    assert 500 < refused < 2900


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
    assert kinds("a==1<>2") == [("column", "a"), ("symbol", "="), ("number", "1"), ("symbol", "!="), ("number", "2")]


def test_names_may_use_any_letters() -> None:
    assert kinds("größe_2 = .5") == [("column", "größe_2"), ("symbol", "="), ("number", ".5")]


def test_positions_count_from_one() -> None:
    assert [token.start for token in tokens("a = 'b'", PLACE)] == [1, 3, 5, 8]


@in_one_test(
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
