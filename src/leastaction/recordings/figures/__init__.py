"""Figures of users' recordings: file ``<name>.py`` draws figure `name`."""
