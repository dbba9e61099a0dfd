"""A real relay log that the demo applies."""
