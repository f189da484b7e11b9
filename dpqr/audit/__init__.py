"""The build under attack, and what third parties' rules are asked."""
