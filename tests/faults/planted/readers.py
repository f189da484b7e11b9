"""Faults of readers of foreign files: cells that decide how a run ends, fixes that write too much."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "tables/foreign.py",
        (
            "        except (ArithmeticError, TypeError, ValueError):\n",
            "        except TypeError:\n",
            "a date ends it",
        ),
        ("return pa.large_string()", "return pa.float64()", "cells decide the type of a workbook's column"),
        (
            '        warnings.simplefilter("ignore")\n',
            '        warnings.simplefilter("always")\n',
            "a library's warning may quote a cell",
        ),
        ("row[at] if at < len(row) else None for row", "row[at] for row", "a short row ends a run"),
        ("batch.validate(full=True)", "batch.validate()", "damaged text reaches the reader of cells"),
    ),
    *planted_in(
        "domain/text/documents.py",
        ("chosen[-1].stop <= edit.start", "chosen[-1].start <= edit.start", "fixes that overlap are both written"),
        ("        draft.unlink(missing_ok=True)\n", "", "a draft stays where a fix cannot be written"),
    ),
)
