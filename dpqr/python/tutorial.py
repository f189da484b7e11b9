"""Tutorial: a folder with made-up data, its documents, and a text that walks through release, ledger, plan, report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from msgspec import Struct

from dpqr.kernel.errors import AlreadyThere
from dpqr.kernel.noise.public import public_generator
from dpqr.python.checks import Path, run_sanitised
from dpqr.python.project import DOMAIN, QUERIES, write_files

TABLE, TEXT = "visits.csv", "README.md"
CUSTOMERS = 1_000
SHOPS = {"Bakery": 8, "Bookshop": 24, "Market": 40}
"""The shops, and what a visit to each costs on average, in euros."""
_DOMAIN = {
    "dpqr": "domain/1",
    "title": "Made-up visits of customers to three shops in 2024",
    "malformed": "drop",
    "fields": [
        {"name": "shop", "type": "string", "constraints": {"enum": list(SHOPS)}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "day",
            "type": "date",
            "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"},
            "dpqr": {"every": "quarter", "otherwise": "drop"},
        },
        {
            "name": "paid",
            "type": "number",
            "description": "in euros",
            "constraints": {"minimum": 0, "maximum": 80},
            "dpqr": {"width": 4, "outside": "clip", "otherwise": "drop"},
        },
    ],
}
_QUERIES = {
    "dpqr": "queries/1",
    "domain": DOMAIN,
    "queries": [
        {"name": "visits", "marginal": []},
        {"name": "visits by shop", "marginal": ["shop"]},
        {"name": "shop by quarter", "marginal": ["shop", "day"]},
        {"mean": "paid", "by": ["shop"]},
    ],
}
_WORDS = """\
# A first release, step by step

This folder holds a made-up table of visits to shops, `visits.csv`, and two documents: `domain.json` says what may stand
in its columns, and `queries.json` what is asked. Nobody is in the table. Type the commands in this folder, in this
order. Your figures will differ from those of others: each run draws its own noise.

## 1. Look at the documents

```sh
dpqr check --queries queries.json
```

```screen
queries.json: 22 queries in 4 blocks over 240 cells
```

Look at: the columns with their cells, and what happens to a value that fits none (`drop`: its row is left out; `clip`:
it counts as the nearest bound). Both documents were written without a look at the table. The command opens no table.

## 2. Plan

```sh
dpqr plan --queries queries.json --eps 1 --unit customer --max-rows 3
```

```screen
Guarantee Differentially private with epsilon = 1 (pure: delta = 0), for one person (column 'customer') ...
Workload 22 queries in 4 blocks
```

Look at: whom the guarantee protects. A customer has up to three rows, so the release protects customers and not rows.
Then at `Noise` and `Error`: how far an answer will typically be from the truth. A plan opens no table, and is free.
Try `--eps 0.1`: less is lost, and the errors grow about tenfold.

## 3. Give the table a budget for life

```sh
dpqr budget init visits --eps 3 --unit customer --ledger budget.sqlite
```

```screen
Left epsilon 3; the largest request that fits is --eps 3
```

The costs of all releases of a table add up. The ledger adds them, and refuses what exceeds the budget.

## 4. Release

```sh
dpqr release visits.csv --queries queries.json --eps 1 --unit customer --max-rows 3 \\
    --dataset visits --ledger budget.sqlite --out first --purpose "The tutorial"
dpqr show first --query "visits by shop"
dpqr show first --query "mean(paid) by shop"
```

```screen
mean(paid) by shop
shop estimate error lower upper basis
```

Look at: `estimate`, and the 95% interval from `lower` to `upper`. The means were made to lie near 8, 24 and 40 euros.

## 5. See what was spent

```sh
dpqr budget show visits --ledger budget.sqlite
```

```screen
Spent epsilon 1 in 1 reservation
Left epsilon 2; the largest request that fits is --eps 2
```

This one is refused, before the table is opened:

```refused
dpqr release visits.csv --queries queries.json --eps 2.5 --unit customer --max-rows 3 \\
    --dataset visits --ledger budget.sqlite --out second
```

```screen
dpqr: dataset 'visits': asked epsilon 2.5, spent 1 of 3, left 2
```

## 6. Ask again, for nothing

```sh
dpqr answer first --where "paid >= 40" --by shop
```

```screen
where(paid >= 40) by shop: 3 answers
```

Look at: no error is known. The answer comes from the released figures alone, so it costs nothing and may be far off.

## 7. Check and report it

```sh
dpqr verify first --ledger budget.sqlite
dpqr label first --ledger budget.sqlite
```

```screen
Used epsilon 1 of epsilon 3 for life; epsilon 2 left
```

Look at: the odds. They are what a release can do to a guess about one customer. A page for readers (it needs
`pip install 'dpqr[report]'`):

```sh
dpqr report first --html first.html --ledger budget.sqlite
```

```screen
wrote first.html
```

Open `first.html` in a browser: answers first, then how sure they are, then the checklist of whoever publishes it.

Next: `dpqr guide start` does the same with a messy table of your own.
"""


class Tutorial(Struct, frozen=True, kw_only=True):
    """What was written. paths: the files. text: what to type, and what to look at.

    >>> Tutorial(paths=("steps/README.md",), text="# A first release").paths
    ('steps/README.md',)
    """

    paths: tuple[str, ...]
    text: str


def tutorial(directory: Path) -> Tutorial:
    """Fill a new or empty folder with a made-up table, its documents and the text of the tutorial.

    Raises:
        AlreadyThere: the folder holds anything.
        UsageFault: it cannot be made.

    Privacy:
        The table is made by a fixed rule; nobody is in it.
    """
    return run_sanitised(lambda: _written(os.fspath(directory)))


def _written(directory: str) -> Tutorial:
    if os.path.lexists(directory) and (not os.path.isdir(directory) or os.listdir(directory)):
        raise AlreadyThere(f"{directory}: is not an empty folder; name a new or an empty one")
    texts = {
        TEXT: _WORDS,
        TABLE: "\n".join(_rows()) + "\n",
        DOMAIN: json.dumps(_DOMAIN, indent=2) + "\n",
        QUERIES: json.dumps(_QUERIES, indent=2) + "\n",
    }
    return Tutorial(paths=write_files(directory, texts), text=_WORDS)


def _rows() -> Iterator[str]:
    """The lines of the table: one to three visits of each customer, the same on every machine."""
    yield "customer,shop,day,paid"
    draw, shops = public_generator(7).integers, tuple(SHOPS)
    for customer in range(1, CUSTOMERS + 1):
        for _ in range(draw(1, 4)):
            shop = shops[(draw(6) + 1) // 3]
            cents = SHOPS[shop] * 50 + draw(SHOPS[shop] * 100)
            yield f"{customer},{shop},2024-{draw(1, 13):02d}-{draw(1, 29):02d},{cents // 100}.{cents % 100:02d}"
