"""XA transactions on MySQL and MariaDB."""
