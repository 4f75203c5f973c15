"""The order of the steps, a module per command: a command imports its own, because each needs other things."""
