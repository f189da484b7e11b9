"""Write survey.csv and survey.parquet beside this script: a made-up panel survey. Nobody is in it.

python sample_data/make_sample.py [DIRECTORY]

Everything comes from the public seed below by simple rules, the same bytes each time. 11,000 people were "interviewed"
one to four times from January to September 2024; a row is an interview. Some cells are empty, few incomes, ages and
hours lie outside the declared bounds, and one region is rare.
"""

from __future__ import annotations

import csv
import sys
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
from pyarrow import parquet

SEED = 20240101
PEOPLE = 11_000
COLUMNS = ("person_id", "region", "sex", "education", "age", "income", "hours", "interview_date")
REGIONS = {"North": 30, "South": 26, "East": 24, "West": 19.6, "Islands": 0.4}
EDUCATIONS = ("none", "primary", "secondary", "bachelor", "master")
BY_AGE = {"young": (1, 6, 50, 32, 11), "middle": (2, 12, 44, 25, 17), "old": (9, 34, 38, 12, 7)}
INTERVIEWS = (30, 35, 20, 15)
FIRST_DAY, LAST_DAY = date(2024, 1, 8), date(2024, 9, 27)

Row = tuple[int, str | None, str | None, str | None, int, int | None, float | None, date]


def main() -> None:
    """Write both files into the named directory, or beside this script."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    rows = survey(Random(SEED))
    with (directory / "survey.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    parquet.write_table(table(rows), directory / "survey.parquet", compression="zstd")


def survey(source: Random) -> list[Row]:
    """All interviews, by person and date."""
    return [row for person in range(1, PEOPLE + 1) for row in interviews(source, person)]


def interviews(source: Random, person: int) -> list[Row]:
    """One person's rows: region, sex and education stay, work and income change a little."""
    region = pick(source, REGIONS)
    sex = None if source.random() < 0.01 else source.choice(("female", "male"))
    age = 18 + int(82 * source.random() ** 1.25)
    group = "young" if age < 35 else "middle" if age < 60 else "old"
    level = source.choices(range(len(EDUCATIONS)), BY_AGE[group])[0]
    education = None if source.random() < 0.015 else EDUCATIONS[level]
    count = source.choices(range(1, 5), INTERVIEWS)[0]
    span = (LAST_DAY - FIRST_DAY).days
    days = sorted(source.sample(range(span + 1), count))
    rows = []
    for day in days:
        weekly = hours(source, age, sex)
        earned = income(source, age, level, weekly)
        unsaid = None if source.random() < 0.02 else weekly
        rows.append((person, region, sex, education, age, earned, unsaid, FIRST_DAY + timedelta(days=day)))
    return rows


def hours(source: Random, age: int, sex: str | None) -> float:
    """Hours of paid work a week, in halves."""
    if source.random() < (0.12 if age < 64 else 0.88):
        return 0.0
    usual = 31 if sex == "female" and source.random() < 0.45 else 39.5
    weekly = round(2 * source.gauss(usual, 5.5)) / 2
    return min(max(weekly, 1.0), 60.0) if source.random() > 0.002 else 90.0


def income(source: Random, age: int, level: int, weekly: float) -> int | None:
    """Yearly, in hundreds; one in eleven does not say. Few are far above the declared maximum."""
    if source.random() < 0.09:
        return None
    base = 9_000 + 640 * weekly * (0.75 + 0.28 * level) * (0.8 + min(age, 55) / 120)
    earned = base * (0.6 + 0.8 * source.random()) * (6 if source.random() < 0.003 else 1)
    return 100 * round(earned / 100)


def pick(source: Random, weights: dict[str, float]) -> str:
    """One key, with a chance in proportion to its weight."""
    return source.choices(tuple(weights), tuple(weights.values()))[0]


def table(rows: list[Row]) -> pa.Table:
    """The same cells with Parquet types: labels as text, income in floating point since it may be null."""
    kinds = (pa.int32(), pa.string(), pa.string(), pa.string(), pa.int16(), pa.float64(), pa.float64(), pa.date32())
    cells = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(cells, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(COLUMNS))


if __name__ == "__main__":
    main()
