from .planning import SearchPlan as SearchPlan
from .planning import SearchWarning as SearchWarning
from .search import PrivateSearch as PrivateSearch
