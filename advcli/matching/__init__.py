"""Finds the rules that the logged advantages are consistent with."""
