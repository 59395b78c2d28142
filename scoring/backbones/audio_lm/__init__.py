"""Audio language models run on this machine."""
