"""Options: values that no command line should carry."""

from __future__ import annotations

from support.refusal_form import Bad

OPTIONS = [
    Bad("eps-with-null", 2, "give a plain decimal number", eps="1\0"),
    Bad("eps-of-a-megabyte", 2, "characters are too many", eps="1" * 10**6),
    Bad("eps-with-terminal-codes", 2, "give a plain decimal number", eps="\x1b[31m1"),
    Bad("unit-with-null", 5, "has no column", options=("--unit", "a\0b", "--max-rows", "1")),
    Bad("unit-endless", 5, "has no column", options=("--unit", "x" * 10**5, "--max-rows", "1")),
    Bad("max-rows-beyond", 2, "--max-rows", options=("--unit", "day", "--max-rows", str(2**80))),
    Bad("seed-beyond", 2, "--seed", options=("--seed", "9" * 5000)),
    Bad("max-memory-small", 2, "memory", options=("--max-memory", "1")),
    Bad("schedule-endless", 2, "--schedule", options=("--schedule", "x" * 10**5)),
    Bad("count-dropped-one", 2, "--count-dropped", options=("--count-dropped", "1")),
    Bad("error-bars-one", 2, "must be at least", options=("--error-bars", "1")),
    Bad("error-bars-word", 2, "a share, free or none", options=("--error-bars", "fre")),
    Bad("certify-free", 2, "give a plain decimal number", options=("--certify", "free")),
    Bad("certify-twice", 2, "leave --error-bars out", options=("--certify", "0.1", "--error-bars", "0.1")),
    Bad("beta-of-nothing", 2, "--beta goes with --schedule theory or --certify", options=("--beta", "0.1")),
    Bad("count-dropped-nan", 2, "give a plain decimal number", options=("--count-dropped", "nan")),
]
