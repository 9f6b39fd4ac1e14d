"""What is wrong with a recording, in one message a lab can act on."""

# Characters that are shown of a problem.
LONGEST = 1000


class RecordingError(ValueError):
    """A recording that cannot be used.

    Parameters
    ----------
    where
        File and line; or, alone, the whole message.
    problem, expected, remedy
        What is wrong, what was expected, and what to do.
    """

    def __init__(
        self, where: str, problem: str = "", expected: str = "", remedy: str = ""
    ):
        if len(problem) > LONGEST:
            problem = f"{problem[:LONGEST]} ..."
        text = (
            f"{where}: {problem}; expected {expected}. {remedy}" if problem else where
        )
        self.written = text  # in the words of a YAML, whichever interface shows it
        super().__init__(text)
