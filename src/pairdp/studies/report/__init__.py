"""The report of studies: one HTML file with plots, tables and certificates, and SVG files."""

from pairdp.studies.report.page import render, write_report
from pairdp.studies.report.plot_files import write_plots

__all__ = ["render", "write_plots", "write_report"]
