"""The project: settings, URLs, processes. Holds no rules, and no app imports it."""
