"""HTML report of a fit, one page that works offline. ``write_report`` is what ``Daguerreotype.report`` calls."""

from daguerreotype.report.page import write_report

__all__ = ["write_report"]
