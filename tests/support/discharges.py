"""Hospital discharges, made up: persons with up to twelve rows, dates with times, money, codes, three kinds of missing.

    PYTHONPATH=tests python -m support.discharges DIRECTORY [ROWS]

writes discharges.csv, domain.json and queries.json there, which `dpqr release` reads. Nobody is in the table.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np

ROWS = 60_000
DEPARTMENTS = (
    "Cardiology",
    "Surgery",
    "Internal medicine",
    "Obstetrics",
    "Paediatrics",
    "Neurology",
    "Oncology",
    "Psychiatry",
)
COSTS = (9_000, 14_500, 5_200, 3_800, 2_900, 7_400, 12_000, 6_100)
"""Mean cost of a stay, by department: Surgery's is far above Cardiology's."""
SHARES = (0.16, 0.2, 0.24, 0.1, 0.09, 0.08, 0.08, 0.05)
CODES = tuple(f"{letter}{number:02d}" for letter in "ACEGIJKMNS" for number in range(0, 60, 2))
MISSING = ("", "NA", "-99")
TIMES = "%d.%m.%Y %H:%M"
DOMAIN = {
    "dpqr": "domain/1",
    "title": "Made-up hospital discharges of one year",
    "malformed": "drop",
    "missingValues": list(MISSING),
    "fields": [
        {
            "name": "department",
            "type": "string",
            "constraints": {"enum": list(DEPARTMENTS)},
            "dpqr": {"otherwise": "drop"},
        },
        {
            "name": "sex",
            "type": "string",
            "description": "1 male, 2 female, 9 unknown",
            "constraints": {"enum": ["1", "2", "9"]},
            "dpqr": {"null": "cell", "otherwise": "drop"},
        },
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 10, "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
        {"name": "icd", "type": "string", "constraints": {"enum": list(CODES)}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "admitted",
            "type": "datetime",
            "format": TIMES,
            "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31T23:59:59"},
            "dpqr": {"every": "month", "otherwise": "drop"},
        },
        {
            "name": "cost",
            "type": "number",
            "description": "in euros",
            "dpqr": {"edges": list(range(0, 50_001, 1_000)), "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
        {
            "name": "days",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 59},
            "dpqr": {"width": 2, "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
    ],
}
QUERIES = {
    "dpqr": "queries/1",
    "domain": "domain.json",
    "queries": [
        {"name": "discharges", "marginal": []},
        {"name": "discharges by month", "marginal": ["admitted"]},
        {"mean": "cost", "by": ["department"]},
        {"median": "cost"},
        {"median": "age", "by": ["sex"]},
        {"ratio": {"of": "cost", "to": "days"}, "by": ["department"]},
        {"proportion": "age >= 70", "by": ["department"]},
        {"marginal": ["department", "admitted"]},
        {"marginals": {"ways": 2, "columns": ["department", "sex", "age"]}},
        {"name": "diagnoses", "marginal": ["icd"]},
    ],
}
"""Ten questions: counts, means, medians, a ratio, by month, pairs."""


def write(directory: Path, rows: int = ROWS, seed: int = 1) -> None:
    """Table and documents."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    # Each person has up to twelve rows; few have many.
    persons = np.repeat(np.arange(rows), np.minimum(rng.geometric(0.45, rows), 12))[:rows] + 100_001
    department = rng.choice(len(DEPARTMENTS), rows, p=SHARES)
    cost = rng.gamma(4, np.array(COSTS)[department] / 4)
    days = np.minimum(rng.poisson(cost / 1_500 + 1), 70)
    age = np.clip(rng.normal(np.where(department == 4, 8, 58), np.where(department == 4, 5, 18)), 0, 104).astype(int)
    sex = rng.choice(("1", "2", "9", *MISSING), rows, p=(0.46, 0.48, 0.03, 0.01, 0.01, 0.01))
    popular = 1 / (np.arange(len(CODES)) + 3)
    icd = rng.choice(CODES, rows, p=popular / popular.sum())
    minute = rng.integers(0, 366 * 24 * 60, rows)
    when = np.datetime64("2024-01-01T00:00") + minute.astype("timedelta64[m]")
    gone = rng.choice((*MISSING, "x"), (2, rows), p=(0.01, 0.01, 0.01, 0.97))
    with open(directory / "discharges.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(("patient_id", "department", "sex", "age", "icd", "admitted", "cost", "days"))
        for row, moment in enumerate(when.astype(object)):
            money = f"{cost[row]:.2f}" if gone[0, row] == "x" else gone[0, row]
            years = str(age[row]) if gone[1, row] == "x" else gone[1, row]
            named = (persons[row], DEPARTMENTS[department[row]], sex[row], years, icd[row])
            out.writerow((*named, moment.strftime(TIMES), money, days[row]))
    for name, document in (("domain.json", DOMAIN), ("queries.json", QUERIES)):
        (directory / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
