"""Write messy.csv: a made-up table of visits as people export it. Nobody is in it.

python sample_data/make_messy.py [DIRECTORY]

20,000 rows from the public seed below, the same bytes each time, in cp1252, with ; between cells. Dates are day/month/
year, money is written in two ways, and a city in two spellings. Some cells are empty, and about 0.3% are rubbish.
"""

from __future__ import annotations

import csv
import sys
from datetime import date, timedelta
from pathlib import Path
from random import Random

SEED = 20241103
ROWS = 20_000
COLUMNS = ("person_id", "city", "sex", "age", "visited", "paid")
CITIES = {"Berlin": 40, "München": 25, "Köln": 20, "Hamburg": 15}
RUBBISH = ("#REF!", "see note", "??", "99999999")
GAPS, SPOILT = 0.03, 0.003
FIRST_DAY = date(2024, 1, 1)


def main() -> None:
    """Write the file into the named directory, or beside this script."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with (directory / "messy.csv").open("w", newline="", encoding="cp1252") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows(visits(Random(SEED)))


def visits(source: Random) -> list[tuple[str, ...]]:
    """All rows: a person comes one to four times; city, sex and age stay, spellings do not."""
    rows: list[tuple[str, ...]] = []
    person = 0
    while len(rows) < ROWS:
        person += 1
        city = source.choices(tuple(CITIES), tuple(CITIES.values()))[0]
        sex, age = source.choice("fm"), min(18 + int(source.expovariate(1 / 25)), 99)
        for _ in range(source.choices((1, 2, 3, 4), (50, 30, 15, 5))[0]):
            cells = (spelt(source, city), sex, str(age), day(source), money(source, age))
            rows.append((f"P{person:05}", *(spoilt(source, cell) for cell in cells)))
    return rows[:ROWS]


def spelt(source: Random, city: str) -> str:
    """The city, or for one in five in small letters with a blank."""
    return city.lower() + " " if source.random() < 0.2 else city


def day(source: Random) -> str:
    """A day of 2024, as 03/11/2024."""
    return (FIRST_DAY + timedelta(days=source.randrange(366))).strftime("%d/%m/%Y")


def money(source: Random, age: int) -> str:
    """As 1.234,50 EUR, or with the euro sign; few are large."""
    cents = int(100 * source.lognormvariate(5.5 + age / 100, 0.8))
    euros, rest = divmod(cents, 100)
    return f"{euros:,}".replace(",", ".") + f",{rest:02} {source.choice(('EUR', '€'))}"


def spoilt(source: Random, cell: str) -> str:
    """The cell, or a gap, or rubbish."""
    chance = source.random()
    if chance < SPOILT:
        return source.choice(RUBBISH)
    return "" if chance < SPOILT + GAPS else cell


if __name__ == "__main__":
    main()
