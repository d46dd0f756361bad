from .facts import SourceFile as SourceFile
from .model_report import ModelReport as ModelReport
from .model_report import write_report as write_report
