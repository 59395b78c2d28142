"""The demo study: music, scenes and raters, all synthesised, so the truth behind every vote is known."""

from __future__ import annotations

# The accounts of the demo, one per role. Their password is known to everybody: never make them in
# production.


DEMO_PASSWORD = "concord-demo"
DEMO_ROLES = ("annotator", "expert", "researcher", "admin")


def demo_email(role: str) -> str:
    return f"{role}@demo.example"
