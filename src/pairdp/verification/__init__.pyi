from .certificates import verify as verify
from .files import verify_file as verify_file
from .models import verify_model as verify_model
from .report import Check as Check
from .report import Report as Report
