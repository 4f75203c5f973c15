"""What each command returns: frozen records, the same for `--json` and for Python."""
