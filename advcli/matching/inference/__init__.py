"""Infers what a log shows besides the rule: options, reward weights, shaping, rounding, and later changes."""
