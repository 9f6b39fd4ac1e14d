# Recordings and examples, and what the stages need of them.

import gc
import hashlib
import logging
import re
import shutil
import threading
import time
from functools import cache
from importlib.util import find_spec

from snakemake_interface_logger_plugins.common import LogEvent

if not find_spec("leastaction"):
    raise WorkflowError(
        "the package leastaction is needed beside Snakemake, which checks examples with "
        "it; install it with: pip install <folder or address of the repository>"
    )

from leastaction.core.families import figures, is_field, system_reference
from leastaction.core.jobs import STAGES, digests, jobs_of, shown
from leastaction.core.settings import ConfigError, complete
from leastaction.core.sources import source_files, write_listing
from leastaction.core.yaml_files import check_data, read_yaml
from leastaction.recordings import configuration as recorded
from leastaction.recordings.configuration import (
    MOTION,
    Published,
    Workflow,
    are_there,
    own_modules,
    read_recordings,
)

# The replicas of the papers are a package of their own; recordings do without it.
REPLICAS = find_spec("leastaction_papers") is not None
SETTINGS, MODULES = recorded.SETTINGS, recorded.MODULES

if REPLICAS:
    from leastaction_papers.configuration import config as project
    from leastaction_papers.configuration import jobs

    SETTINGS, MODULES = SETTINGS | jobs.SETTINGS, MODULES | jobs.MODULES


# What is imported stays to the end: without looking for garbage in it a plan takes a
# third less.
gc.freeze()

# The GNU allocator of a job keeps what is freed for the next replicate: memory that is
# given back and fetched again costs more than many a computation on it.
for threshold in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
    os.environ.setdefault(threshold, str(2**40))

# By rule, the figures of a motion, of another kind of recording, and of a randomly
# excited motion, with what each shows.
FIGURES_OF = {
    "plot_recording": {
        "prediction": "measured and predicted",
        "residuals": "residuals",
        "dynamics": "forces, phase plane, energy",
    },
    "plot_kind": {"prediction": "measured and predicted"},
    "plot_shaken": {
        "spectra": "spectra and modes",
        "innovations": "innovations",
        "one_step": "one-step predictions",
        "force_spectrum": "spectrum of the force",
    },
}
# The stage that makes each file. Later stages have higher priority: what one job writes is
# read by the next while it is in memory. Figures, tables and scores come before the next
# simulation: each job that waits is looked at by Snakemake several times a second.
STAGE_OF = {
    "observations": "simulate",
    "derivatives": "differentiate",
    "library": "assemble",
    "model": "identify",
    "rollout": "validate",
}

MADE_BY = {stage: file for file, stage in STAGE_OF.items()}
MADE_BY |= {"import": "observations", "predict": "rollout"}


# Where ours is used from a repository, what snakedeploy has copied from it.
CONFIG = PROJECT / "config" if PROJECT.is_dir() else Path("config")
STAND_INS = Path(workflow.pathvars.apply("<results>/stand_ins"))
LISTINGS = Path(workflow.pathvars.apply("<logs>/sources"))


def recording_folders():
    """Folder of the YAML file that describes each recording."""
    return {
        name: Path(path).parent
        for path in map(Path, workflow.overwrite_configfiles)
        for name in (read_yaml(path) or {}).get("recordings") or {}
    }


if set(str(PROJECT)) & set("{}"):
    raise WorkflowError(
        f"the folder of the project, {PROJECT}, has a brace in its path, which Snakemake "
        "takes for a wildcard; rename or move it"
    )


try:
    check_data(config, "the configuration")
    if REPLICAS:
        config.update(complete(config, project.Project, "the configuration"))
    else:
        given = {k: v for k, v in config.items() if k in Workflow.model_fields}
        config.update(complete(given, Workflow, "the configuration"))
        config.update(examples={}, papers={}, studies={}, chunks=1)
    RECORDINGS = read_recordings(config, recording_folders(), STAND_INS)
    EXAMPLES, LEFT_OUT = {}, {}
    if REPLICAS:
        EXAMPLES = project.read_examples(CONFIG / "examples", config)
        config.update(project.with_all_listed(config, EXAMPLES))
        LEFT_OUT = project.without_data(EXAMPLES)
        EXAMPLES = {key: e for key, e in EXAMPLES.items() if key not in LEFT_OUT}
        config.update(project.without_examples(config, EXAMPLES, LEFT_OUT))
        project.check_references(config, EXAMPLES)
except ConfigError as error:
    raise WorkflowError(str(error))

if workflow.is_main_process:
    for reason in LEFT_OUT.values():
        logger.info(reason)

# Formats of every figure, and the suffixes of those beside SVG.
KINDS = config["formats"]
OTHERS = [f".{kind}" for kind in KINDS if kind != "svg"]

# Paths of more bytes, their derivatives and their library are dropped when all that reads
# them is done: seconds make them again. `--notemp` keeps them.
MOST_BYTES_KEPT = 3e8
LARGE = {
    n for (_, n), e in EXAMPLES.items() if jobs.bytes_of_paths(e) > MOST_BYTES_KEPT
}


# Examples whose paths what was asked for is made of.
PLANNED = set()


def planned(wildcards):
    """No file: remembers that the paths of an example are asked for."""
    PLANNED.add((wildcards.paper, wildcards.example))
    return []


def stored_motions(wildcards):
    """Files with the motions of an example that are not integrated."""
    return list(example_of(wildcards)["simulate"].get("motions", {}).values())


class Expected(logging.Handler):
    """Says how long a run will take when a tenth of its jobs is done."""

    begun = time.monotonic()

    def emit(self, record):
        if getattr(record, "event", None) != LogEvent.PROGRESS:
            return
        if 10 * record.done >= record.total:
            logger.removeHandler(self)
            spent = time.monotonic() - self.begun
            left = spent * (record.total - record.done) / record.done
            logger.info(
                f"{spent / 60:.1f} minutes for {record.done} of {record.total} jobs; "
                f"if the others are like these, about {left / 60:.1f} more"
            )


def cancel_timers():
    """Cancel what would look for jobs again when there are none.

    The limit of jobs per second leaves a timer behind for each job that has finished, and
    Python ends after the last of them (profiles/default).
    """
    for one in threading.enumerate():
        if isinstance(one, threading.Timer):
            one.cancel()


def check_disk():
    """Refuse a run whose simulated paths will not fit, before its first job.

    All that are kept count, and the largest two that are dropped: both may be in use.
    """
    results = Path(workflow.pathvars.apply("<results>")).absolute()
    made = [k for k in PLANNED if not results.joinpath(*k, "observations.nc").exists()]
    paths = sorted((jobs.bytes_of_paths(EXAMPLES[key]) for key in made), reverse=True)
    dropped = [size for size in paths if size > MOST_BYTES_KEPT]
    needed = sum(paths) - sum(dropped[2:])
    folder = next(path for path in (results, *results.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise WorkflowError(
            f"this run needs about {needed / 1e9:.2g} GB of disk, and {folder} has "
            f"{free / 1e9:.2g} GB left; make room, make one paper at a time (snakemake "
            "<paper>), or set fewer `replicates`"
        )


FOLDERS = sorted({paper for paper, _ in EXAMPLES})
PAPERS = [paper for paper in config["papers"] if paper in FOLDERS]
ESTIMATORS = sorted(
    {
        name
        for e in [*EXAMPLES.values(), *RECORDINGS.values()]
        for name in e["estimators"]
    }
)


# Recordings of other kinds than motions.
OF_KINDS = [name for name, one in RECORDINGS.items() if one["kind"] != MOTION]


# Real machines whose data anybody can get: read where one of them is asked for.
MACHINES = {path.stem: path for path in sorted(CONFIG.glob("recordings/*.yaml"))}


@cache
def recording(name):
    """A recording of the user, or else one of a real machine."""
    if name in RECORDINGS:
        return RECORDINGS[name]
    path = MACHINES[name]
    given = {"recordings": read_yaml(path)["recordings"], "seed": config["seed"]}
    try:
        return read_recordings(given, {name: path.parent}, STAND_INS)[name]
    except ConfigError as error:
        raise WorkflowError(str(error))


def recorded_machines():
    """Names of the machines whose data are on this computer."""
    return [
        name
        for name, path in MACHINES.items()
        if are_there(read_yaml(path)["recordings"][name], path.parent)
    ]


def log_of(job):
    """Log of a job, and what it used (leastaction/core/process.py)."""
    return f"<logs>/{job}.log", f"<logs>/{job}.tsv"


def one_of(names):
    """Pattern of these names; without any, one that nothing fits."""
    return "|".join(re.escape(name) for name in sorted(set(names))) or "(?!)"


def among(places):
    """Pattern of the wildcard `paper` that looks ahead at these `paper/example/...`."""
    return rf"(?=(?:{'|'.join(places) or '(?!)'})/)[^/]+"


def is_variant(example):
    return "-" in example


def examples_of(paper, variants=False):
    """Names of the examples of a paper, in the order of its sections."""
    names = [
        name for p, name in EXAMPLES if p == paper and is_variant(name) == variants
    ]
    return sorted(names, key=lambda name: (EXAMPLES[paper, name]["section"], name))


def example_of(wildcards):
    return example_at(wildcards.get("paper", "recordings"), wildcards.example)


def example_at(paper, name):
    """An example of a paper, or a recording."""
    return recording(name) if paper == "recordings" else EXAMPLES[paper, name]


def recorded_files(wildcards):
    """Tables of a recording; those that a user has, where the user has them."""
    files = map(within, recording(wildcards.example)["import"]["files"])
    return [f if Path(f).is_relative_to(STAND_INS) else local(f) for f in files]


def within(path):
    """A path; if it is below the folder that jobs work in, relative to this."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)


def rollouts_of_recording(name):
    """Prediction of a recording; that of a random motion has none."""
    random = recording(name)["excitation"] == "random"
    return [] if random else [f"<results>/recordings/{name}/recommended/rollout.nc"]


def recorded_rollouts(wildcards):
    return rollouts_of_recording(wildcards.example)


def recorded_usages(wildcards):
    """What was used by the jobs that find the law of a recording."""
    stages = ["identify", *(["predict"] if recorded_rollouts(wildcards) else [])]
    jobs_done = ["import", *(f"recommended/{stage}" for stage in stages)]
    return expand(f"<logs>/recordings/{wildcards.example}/{{s}}.tsv", s=jobs_done)


def figures_of_recording(name):
    """Predictions; of a random motion, what its innovations say."""
    if name in OF_KINDS:
        return list(FIGURES_OF["plot_kind"])
    random = recording(name)["excitation"] == "random"
    return list(FIGURES_OF["plot_shaken" if random else "plot_recording"])


def recordings_with(rule_name):
    """Pattern of the recordings that a rule may draw."""
    of_kind = rule_name == "plot_kind"
    return one_of(OF_KINDS if of_kind else {*RECORDINGS, *MACHINES} - {*OF_KINDS})


def recording_outputs(name):
    """What is made of one recording: the law in words, and its figures."""
    base = f"<results>/recordings/{name}"
    drawn = figures_of_recording(name)
    figures = expand(f"{base}/figures/{{f}}.{{k}}", f=drawn, k=KINDS)
    return [f"{base}/law.md", *figures]


def recording_figures(wildcards):
    """What is drawn of a recording, and from which results."""
    return {
        "name": wildcards.example,
        "results": results("recordings", wildcards.example),
        "figures": figures_of_recording(wildcards.example),
        "style": config["figures"],
    }


def figure(name, shows):
    """A figure of a recording, in the report with the caption of its name."""
    return report(
        f"<results>/recordings/{{example}}/figures/{name}.svg",
        caption=f"../report/{name}.rst",
        category="recordings",
        subcategory="{example}",
        labels={"shows": shows},
    )


def stand_in_settings(wildcards):
    """The system and the sensor of a stand-in, with the root of its random numbers."""
    return {
        **read_yaml(CONFIG / "stand_ins" / f"{wildcards.stand_in}.yaml"),
        "seed": config["seed"],
        "example": f"stand_ins/{wildcards.stand_in}",
    }


def memory(wildcards, attempt):
    """MB for a job with data: more for a field or a recording, and in a new attempt."""
    example = example_of(wildcards)
    large = "import" in example or is_field(example["system"])
    return (2000 if large else 1000) * attempt


def settings_of(stage):
    """Params of a stage: the part of the example's configuration that it uses."""

    def params(wildcards):
        names = wildcards.get("paper", "recordings"), wildcards.example
        estimator = wildcards.get("estimator")
        used = SETTINGS[stage](example_of(wildcards), estimator)
        own = {"results": results(*names, estimator, MADE_BY[stage])}
        return used | block_of(stage, wildcards) | own

    return params


@cache
def results(paper, name, estimator="recommended", last="rollout"):
    """Digest of the settings behind each result up to the file `last` of an estimator."""
    example = example_at(paper, name)
    first = SETTINGS["import" if paper == "recordings" else "simulate"](example)
    found = digests(first, example, estimator, last)
    return {f"{paper}/{name}/{file}": digest for file, digest in found.items()}


def results_of(keys, estimators=shown, last="rollout"):
    """The same of estimators of several (paper, example), such as of those shown."""
    return {
        file: digest
        for key in keys
        for estimator in estimators(example_at(*key)["estimators"])
        for file, digest in results(*key, estimator, last).items()
    }


def sources_of(script, job=None):
    """Inputs of a job: its script, the methods of its stages, what they import.

    Without the stages of a `job` by estimator, that of the name of its script.
    """

    def listed(wildcards):
        example = example_of(wildcards)
        done = job or {wildcards.get("estimator", ""): [script]}
        methods = [
            name
            for estimator, stages in with_names(done, wildcards).items()
            for stage in stages
            for name in MODULES[stage](example, estimator)
        ]
        return sources(script, *methods, *system_modules([example]))

    return listed


def with_names(job, wildcards):
    """Stages of a job by estimator, the one of the wildcards by its name."""
    return {name.format(**wildcards): stages for name, stages in job.items()}


def system_modules(examples):
    """Modules of the classes that describe the systems of examples."""
    references = {system_reference(e["system"]) for e in examples if "system" in e}
    return sorted(name.partition(":")[0] for name in references)


def replicates_of(stage, example):
    """Number of replicates in the file that a stage makes of an example."""
    simulated = example["simulate"]["replicates"]
    rolled = example["validate"].get("replicates", simulated)
    return min(simulated, rolled) if stage == "validate" else simulated


def blocks_of(stage, example):
    """Jobs that a stage is split into for an example."""
    return min(config["chunks"], replicates_of(stage, example))


def reads_block(stage, example):
    """Whether a block of a stage reads the same block of the stage before it."""
    replicates = [replicates_of(name, example) for name in ("simulate", stage)]
    return stage != "simulate" and replicates[0] == replicates[1]


def estimating():
    """Rules of the stages of estimators: what each job does, part of a name of blocks,
    and patterns of what it makes.

    An estimator with readings has a rule of its own, and a path without wildcard.
    """
    found = {"estimate": ({"{estimator}": STAGES}, "", ["recordings/[^/]+/[^/]+"])}
    for (paper, name), e in EXAMPLES.items():
        split = config["chunks"] > 1 and name in split_examples()
        end, part = ("_block", ".{block}") if split else ("", "")
        for first, job in jobs_of(e["estimators"]).items():
            of = re.escape(f"{paper}/{name}")
            if len(job) > 1:
                rule_name = f"estimate_{paper}_{name}_{first}{end}".replace("-", "_")
                found[rule_name] = job, part, [of]
            else:
                plain = {"{estimator}": STAGES}, part, []
                makers = found.setdefault(f"estimate{end}", plain)[-1]
                makers.append(f"{of}/{re.escape(first)}")
    return found


def made_by(job, part):
    """Files that a job makes; what only it reads is temporary."""
    base = "<results>/{paper}/{example}"
    return [
        path if stage == "identify" else temp(path)
        for estimator, stages in job.items()
        for stage in stages
        for path in [f"{base}/{estimator}/{MADE_BY[stage]}{part}.nc"]
    ]


def estimator_settings(job):
    """As `settings_of`, of each stage of a job by estimator."""
    return lambda wildcards: {
        name: {s: SETTINGS[s](example_of(wildcards), name) for s in stages}
        for name, stages in with_names(job, wildcards).items()
    }


def estimator_results(job):
    """Digests of the settings behind what a job reads and makes."""
    return lambda wildcards: results_of(
        [(wildcards.paper, wildcards.example)],
        estimators=lambda _: with_names(job, wildcards),
        last="model",
    )


def block_of(stage, wildcards):
    """{block: [first, end]} where a job is to do these replicates, not all it reads."""
    example = example_of(wildcards)
    if "block" not in wildcards.keys() or reads_block(stage, example):
        return {}
    total = replicates_of(stage, example)
    number, blocks = map(int, wildcards.block.split("_of_"))
    return {"block": [total * i // blocks for i in (number - 1, number)]}


def blocks(wildcards):
    """Files of the blocks that one file is gathered from."""
    stage = STAGE_OF[wildcards.file.rpartition("/")[2]]
    count = blocks_of(stage, example_of(wildcards))
    base = f"<results>/{wildcards.paper}/{wildcards.example}/{wildcards.file}"
    return [f"{base}.{number}_of_{count}.nc" for number in range(1, count + 1)]


@cache
def split_examples():
    """Names of the examples with more than one replicate."""
    return {
        name for (_, name), e in EXAMPLES.items() if e["simulate"]["replicates"] > 1
    }


@cache
def sources(script, *modules):
    """List of the files that a job consists of: script, methods, what they import."""
    path = PROJECT / "workflow" / "scripts" / f"{script}.py"
    if not PROJECT.is_dir():
        path = Path(workflow.source_path(f"../scripts/{script}.py"))
    key = hashlib.sha256(repr(sorted(modules)).encode()).hexdigest()[:8]
    # In a folder of its own: Snakemake reads a folder once, and this may be after that.
    listing = LISTINGS / f"{script}.{key}" / "files.txt"
    write_listing(source_files(modules, scripts=[path]), listing)
    return local(str(listing))
