"""An honest scan: releases of varied kinds, each read by one or more files of the checker, whose verdicts are compared.

    PYTHONPATH=tests python -m checker.scan COUNT WHERE dpqr/checker/check.py [ANOTHER.py]

makes COUNT releases in WHERE (those of an earlier scan are read again) and reads them with each file.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from itertools import product
from pathlib import Path

from checker import honest

import dpqr

SCHEDULES = (None, "rounds", "marginals", "ordered", "strategy", "queries")
ACCOUNTANTS = ("basic", "zcdp", "gdp", "advanced", "optimal", "pld")
UNITS = (
    {},
    {"unit": "person", "max_rows": 2},
    {"unit": "person", "max_rows": 3, "max_rows_per_cell": 2},
    {"unit": ("person", "region"), "max_rows": 2},
)
NEIGHBOURS = ({}, {"neighbours": "replace"})
EPSILONS = (0.1, 1, 4)


def kinds(seed=41):
    """(name, queries, options) of every combination, in a shuffled order."""
    every = list(product(honest.QUERIES, SCHEDULES, ACCOUNTANTS, UNITS, NEIGHBOURS, EPSILONS))
    for queries, schedule, accountant, unit, neighbours, eps in random.Random(seed).sample(every, len(every)):
        options = {"eps": eps, **unit, **neighbours}
        options |= {"schedule": schedule} if schedule else {}
        options |= {"accountant": accountant, "delta": "1e-9"} if accountant != "basic" else {}
        options |= {"n": 300 if unit else 600} if neighbours else {}
        yield f"{queries}, {schedule or 'auto'}, {', '.join(map(str, options.values()))}", queries, options


def made(count, where):
    """The directories of that many releases; combinations that dpqr refuses are left out."""
    where.mkdir(parents=True)
    data, found = honest.table(), 0
    for name, queries, options in kinds():
        document = {"dpqr": "queries/1", "domain": honest.DOMAIN, "queries": honest.QUERIES[queries]}
        try:
            dpqr.release(data, queries=document, out=where / name, **options)
        except dpqr.DpqrError:
            continue
        found += 1
        yield where / name
        if found == count:
            return


def opened(path):
    """A file of the checker as a module."""
    spec = importlib.util.spec_from_file_location(f"checker_{abs(hash(path))}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main(count, where, *files):
    """Print what each file refuses, what not all leave unchecked, and how many verdicts differ."""
    modules = [opened(path) for path in files]
    places = sorted(Path(where).iterdir()) if Path(where).exists() else list(made(int(count), Path(where)))
    unlike = 0
    for place in places:
        verdicts = [{each for each in module.check(str(place)) if each[0] != "ok"} for module in modules]
        for path, found in zip(files, verdicts, strict=True):
            for each in sorted(found):
                if each[0] != "not checked" or any(each not in other for other in verdicts):
                    print(f"{path}: {place.name}: {': '.join(each)}")
        unlike += len({any(state != "not checked" for state, _, _ in found) for found in verdicts}) > 1
    print(f"{len(places)} releases; verdicts differ: {unlike}")


if __name__ == "__main__":
    main(*sys.argv[1:])
