"""Property tests draw the same examples in every run."""

from hypothesis import settings

settings.register_profile("pairdp", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("pairdp")
