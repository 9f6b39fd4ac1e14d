"""What is wrong with a recording, in one message a lab can act on."""

# Characters that are shown of what was given.
LONGEST = 1000


class RecordingError(ValueError):
    """A recording that cannot be used.

    Parameters
    ----------
    where
        File and line; or, alone, the whole message.
    given, expected, remedy
        What stands there, what should, and what to do.
    """

    def __init__(
        self, where: str, given: str = "", expected: str = "", remedy: str = ""
    ):
        if len(given) > LONGEST:
            given = f"{given[:LONGEST]} ..."
        text = f"{where}: {given}; expected {expected}. {remedy}" if given else where
        super().__init__(text)
