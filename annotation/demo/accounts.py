"""The accounts of the demo, one per role. Their password is known to everybody: never make them in production."""

from __future__ import annotations

PASSWORD = "concord-demo"
ROLES = ("annotator", "expert", "researcher", "admin")


def email(role: str) -> str:
    return f"{role}@demo.example"
