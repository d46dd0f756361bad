from .audit import audit_search as audit_search
from .plan import SearchPlan as SearchPlan
from .plan import SearchWarning as SearchWarning
from .search import PrivateSearch as PrivateSearch
