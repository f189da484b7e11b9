"""Wide tables: CPU seconds, peak memory and mean L1 error over n of whole command-line runs, all pairs asked for.

python tests/benchmarks/wide.py [--columns 100 200 400] [--rows 100000] [--factors 4] [--eps 1] [--delta 1e-9]
    [--star] [--plans] [-- more options]

Columns of 10 values follow that many hidden factors (a Gaussian copula). Bars: 1,000 columns and 10^5 rows, 120 CPU
seconds and 2 GB; 100 columns and 10^6 rows, 15 CPU seconds and 250 MB. --star: pairs of the first column alone.
--plans: the plan alone (`--dry-run`). Errors are those of every 10th pair (`scale.py`), against the true counts, for
the tables are made up.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scale import SIZE, errors, timed

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from makers import factors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--factors", type=int, default=4)
    parser.add_argument("--eps", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--star", action="store_true")
    parser.add_argument("--plans", action="store_true")
    given, more = parser.parse_known_args()
    options = ["--eps", given.eps, "--delta", given.delta, *(word for word in more if word != "--")]
    print(f"{'columns':>8} {'rows':>8} {'CPU s':>8} {'peak MB':>8} {'L1 / n':>8} {'product':>8}")
    for columns in given.columns:
        with tempfile.TemporaryDirectory() as folder:
            data, queries, out = Path(folder, "t.parquet"), Path(folder, "q.json"), Path(folder, "out")
            names = [f"c{column:04}" for column in range(columns)]
            asked = [[names[0], other] for other in names[1:]] if given.star else {"ways": 2}
            document = {"domain": dict.fromkeys(names, SIZE), "queries": [{"marginals": asked}]}
            queries.write_text(json.dumps(document), encoding="utf-8")
            generator = np.random.default_rng([columns, given.rows])
            codes = factors(generator, given.rows, (SIZE,) * columns, given.factors).T.astype(np.int8)
            pq.write_table(pa.table(dict(zip(names, codes, strict=True))), data)
            command = ["release", str(data), "--queries", str(queries), *options]
            command += ["--dry-run"] if given.plans else ["--out", str(out), "--format", "parquet"]
            _, cpu, peak = timed(command)
            found = () if given.plans else errors(out / "answers.parquet", codes, 2)
        shown = " ".join(f"{error:>8.4f}" for error in found)
        print(f"{columns:>8} {given.rows:>8} {cpu:>8.1f} {peak:>8.0f} {shown}", flush=True)


if __name__ == "__main__":
    main()
