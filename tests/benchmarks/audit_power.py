"""What `dpqr audit` finds of a build that is wrong in one place: a line a fault, with the cases that were refuted.

PYTHONPATH=tests python tests/benchmarks/audit_power.py            # the short form, noise x 0.8
PYTHONPATH=tests python tests/benchmarks/audit_power.py --full     # the full form's runs, noise x 0.9
"""

import argparse
import time
from fractions import Fraction

from audit.wrong_builds import forgotten_factors, forgotten_rows, hidden_leaks, wrong_builds

from dpqr.audit.run import RUNS, SHORT_RUNS, audit, cases_by_name, select_cases
from dpqr.kernel.noise.source import SystemNoise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100,000 runs a case, noise x 0.9")
    full = parser.parse_args().full
    width, runs = (Fraction(9, 10), RUNS) if full else (Fraction(8, 10), SHORT_RUNS)
    for wrong in (*wrong_builds(width), *forgotten_factors(), *forgotten_rows(), *hidden_leaks()):
        cases_by_name.cache_clear()
        began = time.perf_counter()
        with wrong.made():
            cases = select_cases(wrong.cases)
            found = audit(cases, runs, short=not full, noise=SystemNoise())
        refuted = [finding.name for finding in found.breaches]
        took = time.perf_counter() - began
        print(f"{wrong.name:50} {len(refuted):2} of {len(cases):2} cases refuted, {took:5.1f} s: {', '.join(refuted)}")


if __name__ == "__main__":
    main()
