"""Servers with the OpenAI API (vLLM mostly) as backbones."""
