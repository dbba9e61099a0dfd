"""Logged statements and their context on MySQL and MariaDB."""
