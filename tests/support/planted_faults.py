"""A domain and a queries file with twenty faults of many kinds: lines, paths and words of their messages."""

from __future__ import annotations

DOMAIN = """\
{
  "malformd": "drop",
  "fields": [
    {"name": "sex", "type": "strng", "constraints": {"enum": ["F", "M"]}},
    {"name": "age", "type": "integer", "constraints": {"minimum": "0", "maximum": 99}, "dpqr": {"width": 25}},
    {"name": "income", "type": "number", "constraints": {"minimum": 9, "maximum": 0}, "dpqr": {"bins": 10}},
    {"name": "home region", "type": "string", "constraints": {"enum": ["north", "south"]}},
    {"name": "born", "type": "date", "dpqr": {"every": "month"}},
    {"name": "hours", "type": "integer", "dpqr": {"edges": [0, 40, 20, 60]}},
    {"name": "score", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "dpqr": {"bins": 4, "width": 0.1}},
    {"name": "rich", "type": "boolean", "dpqr": {"null": "clip"}},
    {"name": "seen", "type": "date", "constraints": {"minimum": "FILL-IN", "maximum": "FILL-IN"}},
    {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 5}},
    {"name": "town", "type": "string", "constraints": {"enum": ["A", "B", "A"]}}
  ],
  "impossible": [{"where": "rooms = 9"}, {"where": "hours = 9"}]
}
"""
QUERIES = """\
{
  "domain": "domain.json",
  "queries": [
    {"marginal": ["sexx"]},
    {"marginal": ["income", "age"]},
    {"average": "rooms"},
    {"where": "home region = 'north'"},
    {"where": "rooms >= 2 and"},
    {"prefix": "home region"},
    {"marginal": ["rooms"], "weight": "2"},
    {"marginals": {"ways": 3}},
    {"ranges": "rooms", "between": [[5, 1]]},
    {"sum": "rooms", "by": "sex"}
  ]
}
"""
FAULTS = [
    ("domain.json", 2, "$", "unknown key 'malformd'; did you mean 'malformed'?"),
    ("domain.json", 4, "$.fields[0].type", "unknown value 'strng'"),
    ("domain.json", 5, "$.fields[1].constraints.minimum", "expected a number, got '0'; write it without quotes"),
    ("domain.json", 6, "$.fields[2].constraints.maximum", "must be above the minimum"),
    ("domain.json", 8, "$.fields[4].constraints", "the minimum is missing"),
    ("domain.json", 9, "$.fields[5].dpqr.edges[2]", "is below the edge before it"),
    ("domain.json", 10, "$.fields[6].dpqr", "bins and width contradict each other"),
    ("domain.json", 11, "$.fields[7].dpqr.null", "allowed: 'cell', 'drop', 'fail'"),
    ("domain.json", 12, "$.fields[8].constraints.minimum", "still holds the placeholder FILL-IN"),
    ("domain.json", 12, "$.fields[8].constraints.maximum", "still holds the placeholder FILL-IN"),
    ("domain.json", 14, "$.fields[10].constraints.enum[2]", "the label 'A' stands twice"),
    ("domain.json", 16, "$.impossible[0].where", "no cell of column 'rooms' holds 9"),
    ("q.json", 4, "$.queries[0].marginal[0]", "no column 'sexx'; did you mean 'sex'?"),
    ("q.json", 6, "$.queries[2]", "unknown kind 'average': ask {\"mean\": COLUMN}"),
    ("q.json", 7, "$.queries[3].where", "stands in quotes: `home region`"),
    ("q.json", 8, "$.queries[4].where", "at character 15: expected a column name"),
    ("q.json", 9, "$.queries[5].prefix", "holds labels, which have no order"),
    ("q.json", 10, "$.queries[6].weight", "expected a number, got '2'; write it without quotes"),
    ("q.json", 12, "$.queries[8].between[0]", "low is above high; swap them"),
    ("q.json", 13, "$.queries[9].by", 'expected a list, got text; did you mean ["sex"]?'),
]
