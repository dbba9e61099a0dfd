"""Random schemas and loads on a real Group Replication group, and the check of what its members stamped.

``python -m tests.server.group_load --seeds 1-3`` makes one database a seed, runs several sessions against it and compares
``paraply verify`` with the relay logs of the members. The same seed gives the same schema and the same statements.
"""
