"""Answers and forecasts as charts for the terminal: bars, curves, heat maps, error against epsilon."""
