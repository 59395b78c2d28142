"""An item's page: its texts and versions, candidates, judgments, scores, cases and timeline."""
