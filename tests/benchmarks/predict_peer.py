"""diffprivlib's logistic regression on exported features: `predict.py --peer` runs it with that package's Python."""

import statistics
import sys
import warnings

import numpy as np

PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)


def main() -> None:
    import diffprivlib
    from diffprivlib.models import LogisticRegression

    warnings.filterwarnings("ignore")
    tables, runs = np.load(sys.argv[1]), int(sys.argv[2])
    print(
        f"diffprivlib {diffprivlib.__version__}, logistic regression, delta 0, by C (its best one is chosen for free)"
    )
    for epsilon in (1.0, 0.1):
        for penalty in PENALTIES:
            found = []
            for seed in range(runs):
                model = LogisticRegression(epsilon=epsilon, data_norm=1.0, C=penalty, max_iter=300, random_state=seed)
                model.fit(tables["train"], tables["train_labels"])
                found.append(float(np.mean(model.predict(tables["test"]) == tables["test_labels"])))
            print(f"  eps {epsilon:g}, C {penalty:g}: accuracy {statistics.mean(found):.4f}", flush=True)


if __name__ == "__main__":
    main()
