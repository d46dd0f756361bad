from .page import render as render
from .page import write_report as write_report
from .plot_files import write_plots as write_plots
