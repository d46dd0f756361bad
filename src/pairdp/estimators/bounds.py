"""Public bounds of features, read from small files."""

from pairdp.schema.bounds import Bounds as Bounds
from pairdp.schema.bounds import read_bounds as read_bounds
