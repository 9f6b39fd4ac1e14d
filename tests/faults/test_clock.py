"""A clock that jumped back: files from the future."""

import os
import time

from disturbed import DERIVATIVES, OBSERVATIONS


def test_files_from_the_future(disturbed):
    project = disturbed(DERIVATIVES)
    tomorrow = time.time() + 86400
    os.utime(project.folder / OBSERVATIONS, (tomorrow, tomorrow))
    project.without(DERIVATIVES)
    project.completes()
    project.has_nothing_to_do()
