"""The command ``pairdp``."""
