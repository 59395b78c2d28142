"""Statistics of judgments: functions of arrays, without Django, clock or global state."""
