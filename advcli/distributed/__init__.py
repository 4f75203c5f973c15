"""The commands on Ray Data, for dumps that no single machine should read: the engine is that of one machine."""
