"""Stage `import`: recordings of sensors instead of simulated observations.

The folder ends in an underscore because ``import`` is a word of Python.
"""


def import_recording(settings):
    """Read a user's tables: contract ``measurements``, or ``observations`` if random.

    See :func:`leastaction.recordings.recording.measurements` and
    :func:`leastaction.recordings.ensemble.ensemble`.
    """
    from leastaction.recordings.ensemble import ensemble
    from leastaction.recordings.recorded_tables import unchanged
    from leastaction.recordings.recording import measurements

    with unchanged(settings["import"]["files"]):
        found = measurements(settings).assign_attrs(contract="measurements")
    return ensemble(found) if settings["excitation"] == "random" else found
