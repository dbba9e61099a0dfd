"""Reading logs: open files, advance the schema, hand out batches."""
