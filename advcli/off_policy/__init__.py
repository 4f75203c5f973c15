"""What lies between the policy that sampled and the policy that trained: divergences, importance weights, rejection."""
