"""Checks of a MySQL or MariaDB target before the first write."""
