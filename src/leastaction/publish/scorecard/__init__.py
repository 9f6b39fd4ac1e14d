"""Scorecard: every printed number beside ours, with a verdict."""
