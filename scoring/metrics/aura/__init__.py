"""AURA: an answer is judged by its text, and by whether the recording entails what it claims."""
