"""One suite of features, run on every pair of a source and a target that is allowed, and compared by what a reader sees."""
