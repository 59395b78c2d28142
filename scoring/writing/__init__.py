"""Writing: models that write an item's texts and candidate answers, their runs, drafts and publishing."""
