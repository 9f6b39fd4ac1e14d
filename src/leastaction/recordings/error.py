"""What is wrong with a recording, in one message a lab can act on."""


class RecordingError(ValueError):
    """A recording that cannot be used: where, what was given, expected, what to do."""

    def __init__(self, where: str, given: str, expected: str, remedy: str):
        super().__init__(f"{where}: {given}; expected {expected}. {remedy}")
