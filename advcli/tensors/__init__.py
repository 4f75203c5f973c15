"""Operations on tensors of rows that belong to groups."""
