"""The HTTP API of analysis: find, check, call one service, answer."""
