"""Python interface: releases, plans, sweeps and budgets for programs that hold their table in memory."""
