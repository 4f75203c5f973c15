"""Resolves presets, trainers' configuration files and flags to one set of settings."""
