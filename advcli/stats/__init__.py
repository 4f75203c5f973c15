"""Statistics: advantage columns, group health, comparisons, prompts, steps."""
