"""Designs: which strategy to measure, so that the answers that are asked for can be told from it best."""
