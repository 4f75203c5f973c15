"""What a search infers beside the rule: options, weights, shaping, rounding, what came after."""
