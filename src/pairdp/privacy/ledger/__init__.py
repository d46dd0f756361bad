"""One budget for all releases of a data set."""
