"""Tables as sensors write them, for tests of recordings."""

import os
from pathlib import Path

import numpy as np
from stages import assemble, differentiate, identify

from leastaction.recordings.configuration import SETTINGS, recording_from_config
from leastaction.recordings.import_recording import import_recording
from leastaction.recordings.measured_rollout import predict

ROOT = Path(__file__).parents[1]
RATE = 100.0


def measured_pendulum() -> Path | None:
    """The recording of a real pendulum beside the project, if it is there."""
    given = os.environ.get("LEASTACTION_MEASURED")
    folder = Path(given) if given else ROOT.parent / "shared" / "data" / "measured"
    path = folder / "single-pendulum.csv"
    return path if path.exists() else None


def completed(given: dict, folder: Path) -> dict:
    """A recording as the workflow sees it."""
    return recording_from_config("rig", given, folder)


def imported(given: dict, folder: Path):
    """Observations of a recording."""
    return import_recording(SETTINGS["import"](completed(given, folder)))


def identified(given: dict, folder: Path):
    """Observations, model and prediction of a recording."""
    example = completed(given, folder)
    observations = import_recording(SETTINGS["import"](example))
    recipe, library = example["estimators"]["recommended"], example["library"]
    rates = differentiate(observations, recipe["differentiate"], library)
    equations = assemble(observations, rates, recipe["assemble"], library)
    model = identify(observations, equations, recipe["identify"], library)
    return observations, model, predict(observations, model, example["validate"])


def swing(size=1.0, duration=8.0, rate=RATE, frequency=1.1, noise=1e-4, seed=0):
    """Time and angle of a decaying swing, no exact motion."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(duration * rate)) / rate
    angle = size * np.exp(-0.05 * time) * np.cos(2 * np.pi * frequency * time)
    return time, angle + noise * rng.standard_normal(len(time))


def rows(runs=5, **options) -> list[list]:
    """Rows (run, t, theta) of several swings."""
    found = []
    for run in range(runs):
        time, angle = swing(1.0 / (1 + 0.5 * run), seed=run, **options)
        found += [
            [run, f"{t:.4f}", f"{x:.7f}"] for t, x in zip(time, angle, strict=True)
        ]
    return found


def write(folder: Path, table, header="run,t,theta", name="rig.csv", sep=",") -> Path:
    """A table as text."""
    lines = [header] if header else []
    lines += [sep.join(map(str, row)) for row in table]
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def rig(**changes) -> dict:
    """What a user writes; `changes` replace entries of `import`."""
    part = {
        "files": "rig.csv",
        "trajectory": "run",
        "time": "t",
        "coordinates": {"theta": "rad"},
    }
    part |= changes
    return {"import": {key: value for key, value in part.items() if value is not None}}
