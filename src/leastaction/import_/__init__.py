"""Stage `import`: recordings of sensors instead of simulated observations.

The folder ends in an underscore because ``import`` is a word of Python.
"""


def import_recording(settings):
    """Read a user's tables: contract ``measurements``, or ``observations`` if random.

    See :func:`leastaction.import_.recording.measurements` and
    :func:`leastaction.import_.ensemble.ensemble`.
    """
    from leastaction.import_.ensemble import ensemble
    from leastaction.import_.recording import measurements
    from leastaction.recorded_tables import unchanged

    with unchanged(settings["import"]["files"]):
        found = measurements(settings).assign_attrs(contract="measurements")
    return ensemble(found) if settings["excitation"] == "random" else found
