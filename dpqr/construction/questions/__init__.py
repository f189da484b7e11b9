"""Questions that come one at a time: their loop, its terms and its replay."""
