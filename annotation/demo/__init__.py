"""The demo study: music, scenes and raters, all synthesised, so the truth behind every vote is known."""
