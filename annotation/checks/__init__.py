"""Hidden checks of raters: gold tasks, traps, identical pairs and repeats among the regular tasks."""
