"""Does a method know when its structure is wrong?"""

from collections.abc import Iterator

import numpy as np

from leastaction.report.case import ADDED, Case

# Other diagnostics of a fit, with what they say of all of them.
SHARES = {"converged": "converged"}
MEDIANS = {"jump": "jump", "reached": "segments reached"}


def trust_rows(case: Case) -> Iterator[dict]:
    """How many fits passed their own tests, all levels together, one row per mode.

    The note tells how many of the wrong structures were trusted, and of the right ones:
    a test that trusts all, or none, is worth nothing.
    """
    if case.recovery is None or "trusted" not in case.model:
        return
    for mode in map(str, case.recovery["noise_mode"].values):
        model = case.model.sel(noise_mode=mode)
        dims = ("replicate", "noise_level")
        trusted = model["trusted"].transpose(*dims).values > 0
        right = case.recovery["exact"].sel(noise_mode=mode).transpose(*dims).values
        notes = [
            f"of {int(which.sum())} {word} structures {int(trusted[which].sum())} were "
            "trusted"
            for word, which in (("wrong", ~right), ("right", right))
        ]
        for name, text in SHARES.items():
            if name in model:
                notes.append(f"{int((model[name].values > 0).sum())} {text}")
        for name, text in MEDIANS.items():
            if name in model:
                values = model[name].values
                low, middle = np.nanmin(values), np.nanmedian(values)
                notes.append(f"{text}: median {middle:.2g}, least {low:.2g}")
        yield case.row(
            ADDED,
            f"fits that pass their own tests, {mode} noise, all levels",
            f"of {trusted.size}",
            (float(trusted.sum()), np.nan, np.nan),
            case.recovery.sizes["replicate"],
            note="; ".join(notes),
        )
