# The only file with functions: the examples, and what each rule needs of them.

import hashlib
import os
import re
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from leastaction.acceptance import acceptance
from leastaction.config import (
    check_data,
    check_label,
    check_overrides,
    check_references,
    data_key,
    merge,
    parse_yaml,
    with_variants,
    without_examples,
)
from leastaction.mechanics.from_config import is_field
from leastaction.recipes import (
    FOR_FIGURES,
    FOR_PAPERS,
    FOR_SCORES,
    FOR_TABLES,
    OF_ROLLOUTS,
    example_figures,
    is_random,
    kind_of_data,
    panel,
    rolled_out,
    shows,
)
from leastaction.recordings import MODULES, SETTINGS, recording_from_config
from leastaction.schema import ConfigError, complete
from leastaction.sources import source_files, write_listing

SCHEMAS = Path(workflow.basedir, "workflow", "schemas")
EXAMPLE_FILES = Path(workflow.basedir, "config", "examples")
FIGURES = ["coefficients", "response", "hamiltonian"]
# The stage that makes each file.
STAGE_OF = {
    "observations": "simulate",
    "derivatives": "differentiate",
    "library": "assemble",
    "model": "identify",
    "rollout": "validate",
}


def read_yaml(path):
    try:
        return parse_yaml(path.read_text(errors="replace"), str(path))
    except ConfigError as error:
        raise WorkflowError(str(error))


def read_examples():
    """Every example and variant by (paper, name): completed, checked, overridden."""
    accept = acceptance(read_yaml(SCHEMAS / "example.schema.yaml"))
    written = {
        (path.parent.name, path.stem): read_yaml(path) or {}
        for path in sorted(EXAMPLE_FILES.glob("*/*.yaml"))
    }
    for paper, given in config["examples"].items():
        for name, overrides in given.items():
            if overrides is None:
                written.pop((paper, name), None)
                continue
            written[paper, name] = merge(written.get((paper, name), {}), overrides)
    found, problems = {}, []
    for (paper, name), example in written.items():
        try:
            check_label("paper", paper)
            check_overrides(paper, name, example, written)
            for variant, content in with_variants(name, example):
                where = f"example {paper}/{variant}"
                content = accept(content, where)
                if is_random(content):
                    content["simulate"]["replicates"] = config.get(
                        "replicates", content["simulate"]["replicates"]
                    )
                base = found.get((paper, name), content)
                content["key"] = f"{paper}/{data_key(variant, content, base)}"
                content["seed"] = config["seed"]
                found[paper, variant] = content
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise WorkflowError("\n".join(problems))
    return found


def removed_examples():
    """(paper, name) of every example that an override sets to null."""
    return {
        (paper, name)
        for paper, given in config["examples"].items()
        for name, overrides in given.items()
        if overrides is None
    }


def recording_folders():
    """Folder of the YAML file that describes each recording."""
    return {
        name: Path(path).parent
        for path in map(Path, workflow.overwrite_configfiles)
        for name in (read_yaml(path) or {}).get("recordings") or {}
    }


def read_recordings():
    """Every recording of the user by name, completed and checked."""
    schema = read_yaml(SCHEMAS / "recording.schema.yaml")
    known = read_yaml(SCHEMAS / "example.schema.yaml")["$defs"]
    schema["$defs"] = {**known, **schema["$defs"]}
    folders, found, problems = recording_folders(), {}, []
    for name, given in config["recordings"].items():
        try:
            check_label("recording", name)
            content = recording_from_config(
                name, given, schema, folders.get(name, Path.cwd()), STAND_INS
            )
            content["key"], content["seed"] = f"recordings/{name}", config["seed"]
            found[name] = content
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise WorkflowError("\n".join(problems))
    return found


STAND_INS = Path("results", "stand_ins")

try:
    check_data(config, "the configuration")
    config.update(
        complete(config, read_yaml(SCHEMAS / "config.schema.yaml"), "the configuration")
    )
    RECORDINGS = read_recordings()
    EXAMPLES = read_examples()
    config.update(without_examples(config, removed_examples()))
    check_references(config, EXAMPLES)
except ConfigError as error:
    raise WorkflowError(str(error))

FOLDERS = sorted({paper for paper, _ in EXAMPLES})
PAPERS = [paper for paper in config["papers"] if paper in FOLDERS]
ESTIMATORS = sorted(
    {
        name
        for e in [*EXAMPLES.values(), *RECORDINGS.values()]
        for name in e["estimators"]
    }
)


def one_of(names):
    return "|".join(re.escape(name) for name in sorted(set(names)))


def is_variant(example):
    return "-" in example


def examples_of(paper, variants=False):
    """Names of the examples of a paper, in the order of its sections."""
    names = [
        name for p, name in EXAMPLES if p == paper and is_variant(name) == variants
    ]
    return sorted(names, key=lambda name: (EXAMPLES[paper, name]["section"], name))


def example_of(wildcards):
    if wildcards.get("paper", "recordings") == "recordings":
        return RECORDINGS[wildcards.example]
    return EXAMPLES[wildcards.paper, wildcards.example]


def recorded_files(wildcards):
    """Tables of a recording; those inside the project by their path in it."""
    files = map(Path, RECORDINGS[wildcards.example]["import"]["files"])
    return [
        os.path.relpath(f) if f.is_relative_to(Path.cwd()) else str(f) for f in files
    ]


def recorded_rollouts(wildcards):
    """Prediction of a recording; that of a random motion has none."""
    if RECORDINGS[wildcards.example]["excitation"] == "random":
        return []
    return [f"<results>/recordings/{wildcards.example}/recommended/rollout.nc"]


def recording_outputs(name):
    """What is made of one recording: the law in words, and its figures."""
    base = f"<results>/recordings/{name}"
    if RECORDINGS[name]["excitation"] == "random":
        return [f"{base}/law.md"]
    return [
        f"{base}/law.md",
        *expand(
            f"{base}/figures/{{f}}.{{k}}",
            f=["prediction", "residuals"],
            k=["svg", "png", "pdf"],
        ),
    ]


def stand_in_settings(wildcards):
    """The system and the sensor of a stand-in, with the root of its random numbers."""
    path = Path(workflow.basedir, "config", "stand_ins", f"{wildcards.stand_in}.yaml")
    return {
        **read_yaml(path),
        "seed": config["seed"],
        "example": f"stand_ins/{wildcards.stand_in}",
    }


def memory(wildcards, attempt):
    """MB for a job that holds one ensemble; that of a field is the larger one."""
    example = example_of(wildcards)
    large = "import" in example or is_field(example["system"])
    return (2000 if large else 1000) * attempt


def megabytes(wildcards, attempt):
    """Memory of a job that holds results only."""
    return 1000 * attempt


def minutes(wildcards, attempt):
    """Time that a job may take: more in the second attempt."""
    return 30 * attempt


def settings_of(stage):
    """Params of a stage: the part of the example's configuration that it uses."""
    return lambda wildcards: SETTINGS[stage](
        example_of(wildcards), wildcards.get("estimator")
    ) | block_of(stage, wildcards)


def sources_of(stage):
    """Inputs of a stage: its script, the methods of the recipe, what they import."""
    return lambda wildcards: sources(
        stage, *MODULES[stage](example_of(wildcards), wildcards.get("estimator"))
    )


def replicates_of(stage, example):
    """Number of replicates in the file that a stage makes of an example."""
    simulated = example["simulate"]["replicates"]
    rolled = example["validate"].get("replicates", simulated)
    return min(simulated, rolled) if stage == "validate" else simulated


def blocks_of(stage, example):
    """Jobs that a stage is split into for an example."""
    return min(config["chunks"], replicates_of(stage, example))


def block_of(stage, wildcards):
    """{block: [first, end]}, the replicates of one such job; nothing of a whole one."""
    if "block" not in wildcards.keys():
        return {}
    total = replicates_of(stage, example_of(wildcards))
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


def numbered(wildcards):
    """What the configuration says of the numbered figure or table of a paper."""
    part = "figures" if "figure" in wildcards.keys() else "tables"
    return config["papers"][wildcards.paper][part][
        wildcards.get("figure", wildcards.get("table"))
    ]


def shown_examples(wildcards):
    """The example of the wildcards, or those that a figure or table of a paper shows."""
    if "example" in wildcards.keys():
        return [wildcards.example]
    entry = numbered(wildcards)
    names = entry.get("examples") or examples_of(wildcards.paper)
    return [n for n in names if shows(entry["shows"], EXAMPLES[wildcards.paper, n])]


def panels(wildcards, parts):
    """By example, the parts of its configuration that a figure or a table shows."""
    names = shown_examples(wildcards)
    return {name: panel(EXAMPLES[wildcards.paper, name], parts) for name in names}


def models_of(paper, names):
    """Models of every estimator of the examples `names`."""
    return [
        f"<results>/{paper}/{name}/{estimator}/model.nc"
        for name in names
        for estimator in EXAMPLES[paper, name]["estimators"]
    ]


def models(wildcards):
    return models_of(wildcards.paper, shown_examples(wildcards))


def rollouts_of(paper, names):
    """Rollouts of the estimators of the examples `names` that have one."""
    return [
        f"<results>/{paper}/{name}/{estimator}/rollout.nc"
        for name in names
        for estimator in rolled_out(EXAMPLES[paper, name])
    ]


def rollouts(wildcards):
    return rollouts_of(wildcards.paper, shown_examples(wildcards))


def table_rollouts(wildcards):
    """Rollouts for a table that shows them."""
    return rollouts(wildcards) if numbered(wildcards)["shows"] in OF_ROLLOUTS else []


def figure_settings(wildcards):
    """Panels, style, and what each file (by its stem) shows."""
    if "figure" in wildcards.keys():
        figures, parts = {wildcards.figure: numbered(wildcards)["shows"]}, FOR_PAPERS
    else:
        figures, parts = example_figures(example_of(wildcards)), FOR_FIGURES
    return {
        "panels": panels(wildcards, parts),
        "figures": figures,
        "style": config["figures"],
    }


def table_settings(wildcards):
    shown = numbered(wildcards)["shows"]
    return {"panels": panels(wildcards, FOR_TABLES), "table": shown}


def score_settings(wildcards):
    return {"panels": panels(wildcards, FOR_SCORES), "paper": wildcards.paper}


def scores(wildcards):
    studies = wildcards.collection == "studies"
    named = [
        (paper, name)
        for paper in FOLDERS
        for name in [*examples_of(paper), *examples_of(paper, variants=True)]
        if studies == (is_variant(name) or paper not in PAPERS)
    ]
    return [f"<results>/{paper}/{name}/scores.csv" for paper, name in named]


def study_examples(wildcards):
    """(paper, example) of everything that a study compares."""
    listed = config["studies"][wildcards.study]["examples"]
    return [(paper, name) for paper, names in listed.items() for name in names]


def study_models(wildcards):
    return [
        path
        for paper, name in study_examples(wildcards)
        for path in models_of(paper, [name])
    ]


def study_rollouts(wildcards):
    """Rollouts for a study of what has no coefficients: they judge it."""
    named = study_examples(wildcards)
    if any(kind_of_data(EXAMPLES[key]) not in ("snapshots", "port") for key in named):
        return []
    return [path for paper, name in named for path in rollouts_of(paper, [name])]


def study_settings(wildcards):
    """As `figure_settings`, of the examples of a study."""
    return {
        "panels": {
            f"{paper}/{name}": panel(EXAMPLES[paper, name], FOR_FIGURES)
            for paper, name in study_examples(wildcards)
        },
        "figures": {wildcards.study: config["studies"][wildcards.study]["figure"]},
        "style": config["figures"],
    }


COMPARED = [
    (paper, name)
    for paper, names in config["matrix"]["examples"].items()
    for name in names
]


def benchmarks_of(paper, name):
    """Benchmark files of the stages, or of their blocks, that make an example's models."""
    stages = ["differentiate", "assemble", "identify"]
    count = blocks_of("identify", EXAMPLES[paper, name])
    split = config["chunks"] > 1 and name in split_examples()
    blocks = [f".{i}_of_{count}" for i in range(1, count + 1)] if split else [""]
    return expand(
        f"<logs>/{paper}/{name}/{{e}}/{{s}}{{b}}.tsv",
        e=EXAMPLES[paper, name]["estimators"],
        s=stages,
        b=blocks,
    )


def matrix_settings():
    """Entries of the matrix of methods, in the order of their models."""
    return {
        "noise_level": config["matrix"]["noise_level"],
        "style": config["figures"],
        "entries": [
            {
                "paper": paper,
                "example": name,
                "estimator": estimator,
                "system": EXAMPLES[paper, name]["title"],
                "method": recipe["identify"]["method"],
            }
            for paper, name in COMPARED
            for estimator, recipe in EXAMPLES[paper, name]["estimators"].items()
        ],
    }


def paper_benchmarks(paper):
    """Benchmark files of every job of a paper, within the folder of the logs."""
    settings, found = config["papers"][paper], []
    for name in examples_of(paper):
        example, base = EXAMPLES[paper, name], f"{paper}/{name}"
        jobs = [("simulate", f"{base}/simulate")]
        for estimator in example["estimators"]:
            stages = ["differentiate", "assemble", "identify"]
            stages += ["validate"] if estimator in rolled_out(example) else []
            jobs += [(stage, f"{base}/{estimator}/{stage}") for stage in stages]
        for stage, path in jobs:
            count = blocks_of(stage, example)
            split = [f".{i}_of_{count}" for i in range(1, count + 1)]
            found += [f"{path}{block}.tsv" for block in (split if count > 1 else [""])]
        found += [f"{base}/{job}.tsv" for job in ("plot_example", "score")]
    found += [f"{paper}/plot_paper_{figure}.tsv" for figure in settings["figures"]]
    return found + [f"{paper}/tabulate_{table}.tsv" for table in settings["tables"]]


def story_pictures():
    """Figures of the papers, in the order of the story."""
    return [
        f"<results>/{paper}/figures/{figure}.png"
        for paper in PAPERS
        for figure in config["papers"][paper]["figures"]
    ]


def gallery():
    """Names of the pictures of the README whose figure can be made."""
    made = {f"{p}/figures/{f}" for p in PAPERS for f in config["papers"][p]["figures"]}
    made |= {"matrix"} if COMPARED else set()
    return [name for name, figure in config["gallery"].items() if figure in made]


def gallery_figure(wildcards):
    """The figure that a picture of the README shows."""
    return f"<results>/{config['gallery'][wildcards.picture]}.png"


def story_settings():
    """What the story says of each paper, the parameters of its examples among it."""
    told = ["system", "simulate", "estimators", "validate"]
    return {
        "papers": {
            paper: {
                **config["papers"][paper],
                "examples": {
                    name: {
                        "title": EXAMPLES[paper, name]["title"],
                        "section": EXAMPLES[paper, name]["section"],
                        "settings": {part: EXAMPLES[paper, name][part] for part in told},
                    }
                    for name in examples_of(paper)
                },
                "benchmarks": paper_benchmarks(paper),
            }
            for paper in PAPERS
        }
    }


def paper_outputs(paper):
    """Every figure and table of one paper, and the figures of its examples."""
    shown = examples_of(paper)
    kinds = ["svg", "png", "pdf"]
    base = f"<results>/{paper}"
    settings = config["papers"].get(paper, {"figures": {}, "tables": {}})
    return [
        *expand(f"{base}/figures/{{f}}.{{k}}", f=settings["figures"], k=kinds),
        *expand(
            f"{base}/tables/{{t}}.{{k}}",
            t=settings["tables"],
            k=["csv", "md", "tex", "html"],
        ),
        *expand(f"{base}/{{e}}/scores.csv", e=shown),
        *expand(
            f"{base}/{{e}}/figures/{{f}}.{{k}}",
            e=shown,
            f=FIGURES,
            k=kinds,
        ),
    ]


@cache
def sources(script, *modules):
    """List of the files that a job consists of: script, methods, what they import."""
    path = Path(workflow.basedir, "workflow", "scripts", f"{script}.py")
    key = hashlib.sha256(repr(sorted(modules)).encode()).hexdigest()[:8]
    # In a folder of its own: Snakemake reads a folder once, and this may be after that.
    listing = Path("logs", "sources", f"{script}.{key}", "files.txt")
    write_listing(source_files(modules, scripts=[path]), listing)
    return str(listing)


def set_times_right(*folders):
    """Date files from the future, as a clock that jumped back leaves them, to now.

    Snakemake would refuse whatever is made of them as older than its input.
    """
    now = time.time()
    late = [
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.is_file() and path.stat().st_mtime > now
    ]
    for path in late:
        with suppress(OSError):
            os.utime(path, (now, now))
    if late:
        logger.warning(f"The clock was ahead: {len(late)} files now date from today.")
