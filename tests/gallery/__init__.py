"""Five finished releases of made-up tables, as their readers get them: pages, labels, and the files behind them."""
