"""The Python API: dumps and frames as the commands see them, and advantages of rewards in memory."""
