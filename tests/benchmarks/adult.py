"""Columns of the Adult table, in codes, as benchmarks read it: those of W-small, and all others."""

SIZES = {"sex": 2, "race": 5, "income>50K": 2, "education-num": 16, "marital-status": 7, "relationship": 6}
OTHERS = {"age": 85, "workclass": 9, "fnlwgt": 100, "occupation": 15, "capital-gain": 100, "capital-loss": 100}
OTHERS |= {"hours-per-week": 99, "native-country": 42}
