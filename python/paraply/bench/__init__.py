"""Measurements: the applier beside its peers on a real server, and the kernels beside plain Python."""
