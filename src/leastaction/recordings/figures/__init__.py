"""Figures of users' recordings: file ``<name>.py`` draws figure `name`.

Their panels have a model and a rollout of the contract ``measured_rollout``.
"""

# Figures that stand in the file of another one.
SHARED = {"residuals": "prediction"}
