"""CMI-RM: reward model for music with text, lyrics and reference prompts (CMI-RewardBench)."""
