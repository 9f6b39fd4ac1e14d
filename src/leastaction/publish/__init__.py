"""Stage `publish`: figures, tables and the scorecard."""
