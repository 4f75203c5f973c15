"""The commands on Ray, for dumps that no single machine should read: the engine is that of one machine."""
