from .hospital_table import write_patients as write_patients
from .loan_table import write_loans as write_loans
from .public_bounds import UPPER as UPPER
