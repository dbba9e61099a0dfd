"""Progress and fencing in a MySQL or MariaDB target."""
