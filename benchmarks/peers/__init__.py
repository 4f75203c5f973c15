"""What people would use instead, each as a whole process: `python -m benchmarks.peers.NAME IN OUT KEY[,KEY] REWARD`.

Every one writes the rows of the input in their order, with the four columns that `advcli compute` adds, computed with the
standard deviation of the group (ddof 1), 0 where a group has one value only. `adv_group` is any number that tells the
groups apart.
"""
