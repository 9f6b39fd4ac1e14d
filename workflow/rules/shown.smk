# What figures, tables, the scorecard, the matrix and the page of all papers are made of.

from leastaction.core.families import registered
from leastaction_papers.configuration.jobs import (
    FOR_FIGURES,
    FOR_PAPERS,
    FOR_TABLES_AND_SCORES,
    example_figures,
    kind_of_data,
    panel,
    rolled_out,
    scored,
    shows,
)


from leastaction_papers.scorecard import paper_of, registered_tables


def studies_of(folder):
    """Names of the studies that ask a question of examples of a folder."""
    studies = config["studies"].items()
    return [name for name, s in studies if s["question"] and folder in s["examples"]]


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
    return examples_shown(wildcards.paper, numbered(wildcards))


def examples_shown(paper, entry):
    """Examples of a paper that have what a figure or a table shows."""
    names = entry.get("examples") or examples_of(paper)
    return [n for n in names if shows(entry["shows"], EXAMPLES[paper, n])]


# A figure of which every example was taken out is not drawn.
for paper in PAPERS:
    for part in ("figures", "tables"):
        config["papers"][paper][part] = {
            name: entry
            for name, entry in config["papers"][paper][part].items()
            if examples_shown(paper, entry)
        }


def panels(wildcards, parts):
    """By example, the parts of its configuration that a figure or a table shows."""
    names = shown_examples(wildcards)
    return {name: panel(EXAMPLES[wildcards.paper, name], parts) for name in names}


def results_shown(wildcards, last="rollout"):
    """Digests of the results that a figure or a table shows."""
    return results_of(wildcards.paper, shown_examples(wildcards), last=last)


def models_of(paper, names):
    """Models of the estimators that are shown of the examples `names`."""
    return [
        f"<results>/{paper}/{name}/{estimator}/model.nc"
        for name in names
        for estimator in shown(EXAMPLES[paper, name]["estimators"])
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
    shows_them = numbered(wildcards)["shows"] in registered("TABLES_OF_ROLLOUTS")
    return rollouts(wildcards) if shows_them else []


def figure_sources(wildcards):
    """Sources of the figures that a job draws and of what they show, of no other."""
    if "study" in wildcards.keys():
        drawn = [config["studies"][wildcards.study]["figure"]]
        shown = [EXAMPLES[key] for key in study_examples(wildcards)]
    else:
        drawn, shown = [numbered(wildcards)["shows"]], examples_of_job(wildcards)
    return sources("plot", *(figures()[name] for name in drawn), *system_modules(shown))


# Examples whose figures are made with their rows of the scorecard, and others: without
# the estimator `recommended`, which figures show, or variants of what a paper prints.
SHOWN, SCORED_ALONE = [], []
for (paper, name), example in EXAMPLES.items():
    alone = paper in PAPERS and is_variant(name)
    with_figures = "recommended" in example["estimators"] and not alone
    (SHOWN if with_figures else SCORED_ALONE).append(f"{paper}/{name}")


def table_sources(wildcards):
    """Sources of a table and of what it shows."""
    reference = registered_tables()[numbered(wildcards)["shows"]]
    return sources(
        "tabulate",
        reference.partition(":")[0],
        *system_modules(examples_of_job(wildcards)),
    )


def example_sources(with_figures=True):
    """Sources of the rows of an example in the scorecard, and of its figures."""

    def listed(wildcards):
        (example,) = examples_of_job(wildcards)
        if with_figures and "recommended" not in example["estimators"]:
            raise WorkflowError(
                f"{wildcards.example} has no figures of its own, which show the "
                f"estimator `recommended`; it has {', '.join(example['estimators'])}: "
                "ask for its scores.csv, or for a table or a study that shows it"
            )
        drawn = example_figures(example) if with_figures else []
        modules = [f"{paper_of(example)}.scores", *(figures()[name] for name in drawn)]
        return sources("show_example", *modules, *system_modules([example]))

    return listed


def examples_of_job(wildcards):
    """What a figure, a table or the rows of the scorecard show."""
    return [EXAMPLES[wildcards.paper, name] for name in shown_examples(wildcards)]


def figure_settings(wildcards):
    """Panels, style, and what each file (by its stem) shows."""
    kind = numbered(wildcards)["shows"]
    return {
        "panels": panels(wildcards, FOR_PAPERS),
        "results": results_shown(wildcards),
        "figures": {wildcards.figure: kind},
        "style": config["figures"],
    }


def table_settings(wildcards):
    entry, paper = numbered(wildcards), config["papers"][wildcards.paper]
    source = f"Paper {paper['number']}, " if "number" in paper else ""
    return {
        "panels": panels(wildcards, FOR_TABLES_AND_SCORES),
        "results": results_shown(
            wildcards, "rollout" if table_rollouts(wildcards) else "model"
        ),
        "table": entry["shows"],
        "caption": f"{source}{paper['title']}.\n{entry['caption']}".strip(),
    }


def example_settings(with_figures=True):
    """What the rows of an example in the scorecard show, and its figures."""

    def params(wildcards):
        paper, name = wildcards.paper, wildcards.example
        example = EXAMPLES[paper, name]
        drawn = {
            "shown": panel(example, FOR_FIGURES),
            "figures": example_figures(example),
            "formats": KINDS,
            "style": config["figures"],
        }
        return {
            "panels": {name: scored(example)},
            "results": results_of(paper, [name], estimators=list),
            "paper": paper,
        } | (drawn if with_figures else {})

    return params


def scored_files(part, file):
    """Files of all estimators that the scorecard has rows of."""
    return lambda wildcards: [
        f"<results>/{wildcards.paper}/{wildcards.example}/{estimator}/{file}.nc"
        for estimator in scored(example_of(wildcards))[part]
    ]


def reproduces(paper, name):
    """Whether it is an example of a paper, or a variant beside printed numbers of it."""
    if paper not in PAPERS:
        return False
    published = EXAMPLES[paper, name]["publish"]
    printed = any(published[key] for key in ("rows", "formulas", "lagrangians"))
    return printed or not is_variant(name)


def printed_examples():
    """(paper, example) of every row of the scorecard."""
    return [key for key in EXAMPLES if reproduces(*key)]


# Folders with examples that no paper prints, and the paper that each goes beyond.
BEYOND = {
    folder: folder.removeprefix("beyond_")
    for folder in FOLDERS
    if any(p == folder and not reproduces(p, name) for p, name in EXAMPLES)
}


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
    judged = {"snapshots", "field_snapshots", "port", "driven_port"}
    if any(kind_of_data(EXAMPLES[key]) not in judged for key in named):
        return []
    return [path for paper, name in named for path in rollouts_of(paper, [name])]


def study_settings(wildcards):
    """As `figure_settings`, of the examples of a study."""
    last = "rollout" if study_rollouts(wildcards) else "model"
    return {
        "panels": {
            f"{paper}/{name}": panel(EXAMPLES[paper, name], FOR_FIGURES)
            for paper, name in study_examples(wildcards)
        },
        "results": {
            file: digest
            for paper, name in study_examples(wildcards)
            for file, digest in results_of(paper, [name], last=last).items()
        },
        "figures": {wildcards.study: config["studies"][wildcards.study]["figure"]},
        "style": config["figures"],
    }


COMPARED = [
    (paper, name)
    for paper, names in config["matrix"]["examples"].items()
    for name in names
]


def usages_of(paper, name):
    """What was used by the jobs, or those of blocks, that make an example's models."""
    recipes = EXAMPLES[paper, name]["estimators"]
    done = [f"{e}/{job[-1]}" for e in shown(recipes) for job in jobs_of(recipes, e)]
    count = blocks_of("identify", EXAMPLES[paper, name])
    split = config["chunks"] > 1 and name in split_examples()
    blocks = [f".{i}_of_{count}" for i in range(1, count + 1)] if split else [""]
    return expand(f"<logs>/{paper}/{name}/{{job}}{{b}}.tsv", job=done, b=blocks)


def matrix_level(simulation):
    """Noise at which a sweep is compared: that of the settings, or what is nearest."""
    wanted = config["matrix"]["noise_level"]
    levels = simulation.get("noise", {}).get("levels") or [wanted]
    return min(levels, key=lambda level: abs(level - wanted))


def description_settings(wildcards):
    """The truth of an example, and its estimators in the order of their models."""
    example = EXAMPLES[wildcards.paper, wildcards.example]
    parts = {key: example[key] for key in ("title", "system")}
    return {
        **parts,
        "estimators": shown(example["estimators"]),
        "results": results_of(wildcards.paper, [wildcards.example], last="model"),
    }


def matrix_settings():
    """Entries of the matrix of methods, in the order of their models."""
    return {
        "style": config["figures"],
        "entries": [
            {
                "paper": paper,
                "example": name,
                "estimator": estimator,
                "system": EXAMPLES[paper, name]["title"]
                + (f", {name.partition('-')[2]}" if is_variant(name) else ""),
                "method": recipe["identify"]["method"],
                "noise_level": matrix_level(EXAMPLES[paper, name]["simulate"]),
            }
            for paper, name in COMPARED
            for estimator, recipe in EXAMPLES[paper, name]["estimators"].items()
            if not recipe.get("setting")
        ],
    }


def papers_files(kind):
    """Files of the figures of the papers, in the order of their page."""
    return [
        f"<results>/{paper}/figures/{figure}.{kind}"
        for paper in PAPERS
        for figure in config["papers"][paper]["figures"]
    ]


def papers_named():
    """What names each paper, in their order."""
    told = ("title", "number", "year")
    papers = config["papers"].items()
    return {name: {k: p[k] for k in told if k in p} for name, p in papers}


def beyond_examples():
    """(folder, example) of everything that no paper prints."""
    return [key for key in EXAMPLES if not reproduces(*key)]


def beyond_studies():
    """Studies of the page, in the order of its sections."""
    return [name for folder in BEYOND for name in studies_of(folder)]


def beyond_sections():
    """By folder, the paper that it goes beyond and what its studies ask."""
    papers = papers_named()
    return {
        folder: {
            "paper": papers.get(paper, {}),
            "studies": {
                name: {k: config["studies"][name][k] for k in ("question", "caption")}
                for name in studies_of(folder)
            },
        }
        for folder, paper in BEYOND.items()
    }


def papers_settings():
    """What the page of all papers says of each, with the names of its examples."""
    return {p: {**config["papers"][p], "examples": examples_of(p)} for p in PAPERS}


def paper_outputs(paper):
    """Figures and tables of a paper, and the figures of its examples.

    Of a folder that is no paper also its variants, and every law.
    """
    own = paper not in PAPERS
    shown = every_example(paper) if own else examples_of(paper)
    base = f"<results>/{paper}"
    settings = config["papers"].get(paper, {"figures": {}, "tables": {}})
    return [
        *expand(f"{base}/figures/{{f}}.{{k}}", f=settings["figures"], k=KINDS),
        *expand(
            f"{base}/tables/{{t}}.{{k}}",
            t=settings["tables"],
            k=["csv", "md", "tex", "html"],
        ),
        *expand(f"{base}/{{e}}/scores.csv", e=shown),
        *expand(f"{base}/{{e}}/figures", e=shown),
        *(expand(f"{base}/{{e}}/law.md", e=shown) if own else []),
    ]


def every_example(paper):
    """Names of the examples of a folder and of their variants."""
    return [*examples_of(paper), *examples_of(paper, variants=True)]


def of_machines(file):
    """A file of every machine whose data are on this computer."""
    return lambda wildcards: [
        f"<results>/recordings/{name}/{file}" for name in recorded_machines()
    ]


def machine_rollouts(wildcards):
    """Predictions of these machines; that of a random motion has none."""
    return [
        f"<results>/recordings/{name}/recommended/rollout.nc"
        for name in recorded_machines()
        if recording(name)["excitation"] != "random"
    ]


def machines_settings(wildcards):
    """What is published of every machine, and which of them are recorded here."""
    told = {n: read_yaml(path)["recordings"][n] for n, path in MACHINES.items()}
    return {
        "recorded": recorded_machines(),
        "results": {
            file: digest
            for name in recorded_machines()
            for file, digest in results("recordings", name).items()
        },
        "machines": {
            name: {
                "title": given["title"],
                "published": complete(given["published"], Published, f"machine {name}"),
            }
            for name, given in told.items()
        },
    }
