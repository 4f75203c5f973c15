"""What happens to a reward before the estimator sees it."""
