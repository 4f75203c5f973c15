"""Which rows take part in training: tensors in, keep-mask out (True = kept)."""
