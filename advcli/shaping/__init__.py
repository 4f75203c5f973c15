"""Shaping of rewards before the estimator, and of advantages after it."""
