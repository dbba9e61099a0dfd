"""Workers, retries and the supervision of a run."""
