"""Loading: checkpoints, weights, adapters, the feature cache and decoded sounds."""
