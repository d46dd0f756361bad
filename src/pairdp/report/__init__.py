"""The report of studies: one HTML file with plots, tables and certificates, for any browser."""

from pairdp.report.page import render, write_report

__all__ = ["render", "write_report"]
