"""Reproduces frameworks' own advantages, to the digit."""
