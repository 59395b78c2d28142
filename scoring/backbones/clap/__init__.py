"""CLAP: contrastive embeddings of sounds and texts."""
