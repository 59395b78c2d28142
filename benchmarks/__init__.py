"""One script per claim. Each brings its own scratch database and prints one JSON line last."""
