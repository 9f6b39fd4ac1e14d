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


def drawn(wildcards):
    """Kind of a figure of a paper or a study, and (paper, example) of what it shows."""
    if "study" in wildcards.keys():
        study = config["studies"][wildcards.study]
        return study["figure"], [
            (p, n) for p, e in study["examples"].items() for n in e
        ]
    entry = config["papers"][wildcards.paper]["figures"][wildcards.figure]
    names = examples_shown(wildcards.paper, entry)
    return entry["shows"], [(wildcards.paper, name) for name in names]


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


def models_of(keys):
    """Models of the estimators that are shown of these (paper, example)."""
    return [
        f"<results>/{paper}/{name}/{estimator}/model.nc"
        for paper, name in keys
        for estimator in shown(EXAMPLES[paper, name]["estimators"])
    ]


def rollouts_of(keys):
    """Rollouts of the estimators of these (paper, example) that have one."""
    return [
        f"<results>/{paper}/{name}/{estimator}/rollout.nc"
        for paper, name in keys
        for estimator in rolled_out(EXAMPLES[paper, name])
    ]


def figure_rollouts(wildcards):
    """Rollouts for a figure; for a study only of what has no coefficients to judge."""
    keys = drawn(wildcards)[1]
    judged = {"snapshots", "field_snapshots", "port", "driven_port"}
    judges = all(kind_of_data(EXAMPLES[key]) in judged for key in keys)
    return rollouts_of(keys) if judges or "study" not in wildcards.keys() else []


def figure_sources(wildcards):
    """Sources of a figure and of what it shows, of no other."""
    kind, keys = drawn(wildcards)
    return sources("plot", figures()[kind], *system_modules(map(EXAMPLES.get, keys)))


def figure_settings(wildcards):
    """What a figure shows: panels, the settings behind their results, style."""
    kind, keys = drawn(wildcards)
    of_study = "study" in wildcards.keys()
    parts = FOR_FIGURES if of_study else FOR_PAPERS
    return {
        "panels": {
            f"{paper}/{name}" if of_study else name: panel(EXAMPLES[paper, name], parts)
            for paper, name in keys
        },
        "results": results_of(
            keys, last="rollout" if figure_rollouts(wildcards) else "model"
        ),
        "figure": kind,
        "style": config["figures"],
    }


class Tables:
    """Tables of a paper that are made in one job, and what they show.

    Those of variants, which an erratum refers to, are made alone.
    """

    def __init__(self, paper, names):
        about = config["papers"][paper]
        self.paper, self.entries = paper, {n: about["tables"][n] for n in names}
        self.examples = {
            name: examples_shown(paper, entry) for name, entry in self.entries.items()
        }
        self.keys = sorted({(paper, n) for e in self.examples.values() for n in e})
        kinds = {entry["shows"] for entry in self.entries.values()}
        self.modules = {registered_tables()[kind].partition(":")[0] for kind in kinds}
        shown_too = kinds & set(registered("TABLES_OF_ROLLOUTS"))
        self.rollouts = rollouts_of(self.keys) if shown_too else []
        number = f"Paper {about['number']}, " if "number" in about else ""
        self.source = f"{number}{about['title']}.\n"

    def sources(self, wildcards):
        """Sources of these tables and of what they show."""
        systems = system_modules(map(EXAMPLES.get, self.keys))
        return sources("tabulate", *self.modules, *systems)

    def settings(self, wildcards):
        """Panels by example, and of each table what it shows of which."""
        last = "rollout" if self.rollouts else "model"
        return {
            "panels": {
                name: panel(EXAMPLES[paper, name], FOR_TABLES_AND_SCORES)
                for paper, name in self.keys
            },
            "results": results_of(self.keys, last=last),
            "tables": {
                name: {
                    "shows": entry["shows"],
                    "examples": self.examples[name],
                    "caption": f"{self.source}{entry['caption']}".strip(),
                }
                for name, entry in self.entries.items()
            },
        }


def table_jobs():
    """By the name of its rule, the tables that each job makes."""
    found = {}
    for paper in PAPERS:
        for name, entry in config["papers"][paper]["tables"].items():
            alone = all(map(is_variant, entry.get("examples") or [""]))
            rule_name = f"tabulate_{paper}_{name}" if alone else f"tabulate_{paper}"
            found.setdefault(rule_name, (paper, []))[1].append(name)
    return {rule_name: Tables(*job) for rule_name, job in found.items()}


# Examples whose figures are made with their rows of the scorecard, and others: without
# the estimator `recommended`, which figures show, or variants of what a paper prints.
SHOWN, SCORED_ALONE = [], []
for (paper, name), example in EXAMPLES.items():
    alone = paper in PAPERS and is_variant(name)
    with_figures = "recommended" in example["estimators"] and not alone
    (SHOWN if with_figures else SCORED_ALONE).append(f"{paper}/{name}")


def example_sources(with_figures=True):
    """Sources of the rows of an example in the scorecard, and of its figures."""

    def listed(wildcards):
        example = example_of(wildcards)
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
            "results": results_of([(paper, name)], estimators=list),
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


# (paper, example) of every row of the scorecard, and of everything that no paper prints.
PRINTED = [key for key in EXAMPLES if reproduces(*key)]
UNPRINTED = [key for key in EXAMPLES if key not in PRINTED]


# Folders with examples that no paper prints, and the paper that each goes beyond.
BEYOND = {
    folder: folder.removeprefix("beyond_")
    for folder in sorted({folder for folder, _ in UNPRINTED})
}


COMPARED = [
    (paper, name)
    for paper, names in config["matrix"]["examples"].items()
    for name in names
]


def usages_of(paper, name):
    """What was used by the jobs, or those of blocks, that make an example's models."""
    done = shown(EXAMPLES[paper, name]["estimators"])
    count = blocks_of("identify", EXAMPLES[paper, name])
    split = config["chunks"] > 1 and name in split_examples()
    blocks = [f".{i}_of_{count}" for i in range(1, count + 1)] if split else [""]
    return expand(f"<logs>/{paper}/{name}/{{e}}/identify{{b}}.tsv", e=done, b=blocks)


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
        "results": results_of([(wildcards.paper, wildcards.example)], last="model"),
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
                "fits": len(jobs_of(EXAMPLES[paper, name]["estimators"])[estimator]),
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


# Studies of the page, in the order of its sections.
BEYOND_STUDIES = [name for folder in BEYOND for name in studies_of(folder)]


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


def paper_outputs(paper):
    """Figures and tables of a paper, and the figures of its examples.

    Of a folder that is no paper also its variants, and every law.
    """
    own = paper not in PAPERS
    shown = examples_of(paper) + (examples_of(paper, variants=True) if own else [])
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


def of_machines(file):
    """A file of every machine whose data are on this computer."""
    return lambda wildcards: [
        f"<results>/recordings/{name}/{file}" for name in recorded_machines()
    ]


def machines_settings(wildcards):
    """What is published of every machine, and which of them are recorded here."""
    told = {n: read_yaml(path)["recordings"][n] for n, path in MACHINES.items()}
    return {
        "recorded": recorded_machines(),
        "results": results_of([("recordings", name) for name in recorded_machines()]),
        "machines": {
            name: {
                "title": given["title"],
                "published": complete(given["published"], Published, f"machine {name}"),
            }
            for name, given in told.items()
        },
    }
