"""Public bounds of the breast-cancer data that comes with scikit-learn, for examples."""

from pairdp.studies.data.public_ranges import PUBLIC_RANGES

UPPER = tuple(each.upper for each in PUBLIC_RANGES["cancer_wdbc"].values())
"""Public upper bounds of the features; the lower bounds are zero."""
