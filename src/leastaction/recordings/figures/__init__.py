"""Figures of users' recordings: file ``<name>.py`` draws figure `name`.

Their panels have a model and a rollout of the contract ``measured_rollout``.
"""

# Further figures of a file.
SHARED = {
    "prediction": ("residuals",),
}
