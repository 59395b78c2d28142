"""What analysis writes: stored figures and exports."""
