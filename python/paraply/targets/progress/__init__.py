"""Progress of a channel, by GTIDs and by positions in log files."""
