"""Causal language models of this machine that read and write."""
