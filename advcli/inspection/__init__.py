"""What is in a dump: figures of all its rows, phantom advantages, single groups and rows."""
