"""Figures, tables, pages and the scorecard of the papers."""
