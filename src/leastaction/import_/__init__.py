"""Stage `import`: recordings of sensors instead of simulated observations.

The folder ends in an underscore because ``import`` is a word of Python.
"""


def import_recording(settings):
    """Read a user's tables into the contract ``measurements``.

    See :func:`leastaction.import_.recording.measurements`.
    """
    from leastaction.import_.recording import measurements

    return measurements(settings)
