"""Figures, tables, pages and the scorecard."""
