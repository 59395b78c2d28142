"""What a study's figures say, put together from frames and statistics."""
