"""Learning from a stream of records, every model of which is released."""

from pairdp.online.descent import OnlineDescent
from pairdp.online.session import OnlineSession

__all__ = ["OnlineDescent", "OnlineSession"]
