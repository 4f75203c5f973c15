"""Rows with their groups: what the commands work on."""
