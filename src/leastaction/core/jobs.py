"""What a job of a stage needs of an estimator: settings, modules, a digest."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial

from leastaction.core.method import Step, step

# Stages of an estimator, each of which reads the files of those before it.
STAGES = ("differentiate", "assemble", "identify")
# What the `STAGES` of an estimator make.
FILES = ("derivatives", "library", "model")


def step_settings(stage: str, example: Mapping, estimator: str) -> dict:
    """Settings of a stage: the method, and the candidates that it evaluates."""
    library = example.get("library", {})
    if stage != "identify":  # which goes back to the samples with all of them
        library = step_of(stage, example, estimator).parts_of(library)
    return {stage: example["estimators"][estimator][stage], "library": library}


def step_of(stage: str, example: Mapping, estimator: str | None = None) -> Step:
    """Step of a stage that an example, or one of its estimators, names."""
    recipe = example if stage == "simulate" else example["estimators"][estimator]
    return step(stage, recipe[stage])


def digests(
    first: Mapping, example: Mapping, estimator: str | None, last: str
) -> dict[str, str]:
    """Digest of all settings behind each result of an example, by its name.

    `first` are the settings that its observations are made with. The names,
    ``observations`` and ``estimator/model``, are those of the files that a job of the
    `estimator` reads or makes, whose output is the file `last`; a result may be that of
    another estimator (:func:`maker`).
    """
    result = {"observations": (before := _digest(first))}
    if last == "observations":
        return result
    for stage, file in zip(STAGES, FILES, strict=True):
        before = _digest(before, step_settings(stage, example, estimator))
        for name in (estimator, maker(example["estimators"], estimator, stage)):
            result[f"{name}/{file}"] = before
        if file == last:
            return result
    return result | {f"{estimator}/{last}": _digest(before, example["validate"])}


def _digest(*settings) -> str:
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def shown(estimators: Mapping) -> list[str]:
    """Names of the estimators that figures and tables show: readings are not."""
    return [name for name, recipe in estimators.items() if not recipe.get("setting")]


def maker(estimators: Mapping, name: str, stage: str) -> str:
    """Estimator whose file of a stage this one reads.

    That of which it is a reading, where nothing differs up to this stage.
    """
    of = _read_as(estimators, name)
    upto = STAGES[: STAGES.index(stage) + 1]
    return of if all(estimators[name][s] == estimators[of][s] for s in upto) else name


def jobs_of(estimators: Mapping) -> dict[str, dict[str, tuple[str, ...]]]:
    """Stages that each job does, by its estimators: the first names it, and reads none.

    The others are its readings, which do what differs from it.

    >>> of = {"of": "published"}
    >>> recipe = {"differentiate": 1, "assemble": 2, "identify": 3}
    >>> reading = recipe | {"identify": 4, "setting": of}
    >>> jobs_of({"published": recipe, "again": reading})["published"]["again"]
    ('identify',)
    """
    jobs: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in estimators:
        first = _read_as(estimators, name)
        done = tuple(s for s in STAGES if maker(estimators, name, s) == name)
        jobs.setdefault(first, {first: STAGES})[name] = done
    return jobs


def _read_as(estimators: Mapping, name: str) -> str:
    """Estimator that this one is a reading of, or itself."""
    of = (estimators[name].get("setting") or {}).get("of")
    return of if of in estimators else name


def modules_of(stage: str, example: Mapping, estimator: str | None = None) -> list[str]:
    """Modules that do the work of a stage."""
    return step_of(stage, example, estimator).modules()


SETTINGS: Mapping[str, Callable] = {s: partial(step_settings, s) for s in STAGES}
MODULES: Mapping[str, Callable] = {s: partial(modules_of, s) for s in STAGES}
