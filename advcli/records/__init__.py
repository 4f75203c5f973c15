"""What travels between the layers: frozen records, no logic that imports anything heavy."""
