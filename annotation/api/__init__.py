"""The HTTP API of annotation: find, check, call one service, answer."""
