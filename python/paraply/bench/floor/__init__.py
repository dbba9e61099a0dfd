"""The floor: the time that a server needs for the rows of a log, measured with a client that decodes nothing."""
