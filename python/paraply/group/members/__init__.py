"""Members of a group: sessions, certification, pending transactions and flow control."""
