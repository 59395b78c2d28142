"""What benchmarks work on: studies with sound, checkpoints with random weights, scorers that do as they are told."""
