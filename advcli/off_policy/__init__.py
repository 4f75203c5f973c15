"""Mismatch between the sampling policy and the trained policy: divergences, importance weights, rejection."""
