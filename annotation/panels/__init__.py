"""Crowdsourcing panels: participants who come by a link, without an account, and go back with a code."""
