"""Estimators of a third party that carry state from part to part, misbehave, or fail."""

import os
import random
import time

import numpy as np


class Counting:
    """Predicts by how many rows all fits so far have seen: what one part holds moves every later vote."""

    seen = 0

    def fit(self, vectors, targets):
        type(self).seen += len(vectors)

    def predict(self, points):
        return np.full(len(points), type(self).seen % 2)


class Drawing:
    """Predicts by numpy's and Python's global generators, from which it draws once for every row."""

    def fit(self, vectors, targets):
        self.drawn = [np.random.random() + random.random() for _ in vectors][-1]

    def predict(self, points):
        return np.full(len(points), int(self.drawn * 1000) % 2)


class Hashing:
    """Predicts by the order of a set of texts."""

    def fit(self, vectors, targets):
        self.order = list({"a", "b", "c", "d", "e"})

    def predict(self, points):
        return np.full(len(points), self.order[0] < "c")


class Listening:
    """Waits for what a later part will send."""

    def fit(self, vectors, targets): ...

    def predict(self, points):
        for descriptor in range(3, 64):
            try:
                os.set_blocking(descriptor, False)
                if os.read(descriptor, 1):
                    return np.ones(len(points))
            except OSError:
                continue
        return np.zeros(len(points))


class Talking:
    """Prints its rows in every way."""

    def fit(self, vectors, targets):
        print("rows", vectors)
        os.write(1, b"from compiled code")
        os.write(2, b"from compiled code")
        self.kept = targets

    def predict(self, points):
        return np.full(len(points), self.kept[0])


class Failing:
    """Fails as it is told."""

    def __init__(self, how="raise"):
        self.how = how

    def fit(self, vectors, targets):
        if self.how == "raise":
            raise ValueError("a private value 987654321")
        if self.how == "exit":
            raise SystemExit(0)
        if self.how == "closed":
            os._exit(99)
        if self.how == "killed":
            os.kill(os.getpid(), 9)
        if self.how == "server":
            os.kill(os.getppid(), 9)
            time.sleep(1)
        if self.how == "busy":
            while True:
                pass

    def predict(self, points):
        answers = {"shape": np.zeros(3), "label": np.full(len(points), 7), "half": np.full(len(points), 0.5)}
        return answers.get(self.how, "text")
