rule plot_paper:
    input:
        models=lambda wildcards: models_of(drawn(wildcards)[1]),
        rollouts=figure_rollouts,
        sources=figure_sources,
    output:
        svg=report(
            "<results>/{paper}/figures/{figure}.svg",
            caption="../report/paper_figure.rst",
            category="{paper}",
            subcategory="the paper's figures and tables",
            labels={"shows": "{figure}"},
        ),
        others=multiext("<results>/{paper}/figures/{figure}", *OTHERS),
        finding="<results>/{paper}/figures/{figure}.txt",
    log:
        *log_of("{paper}/plot_paper_{figure}"),
    wildcard_constraints:
        figure="[^/]+",
    priority: 2
    conda:
        "../../environment.yml"
    params:
        settings=figure_settings,
    message:
        "Drawing {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/plot.py"


use rule plot_paper as plot_study with:
    output:
        svg=report(
            "<results>/studies/{study}.svg",
            caption="../report/study.rst",
            category="Studies",
            labels={"shows": "{study}"},
        ),
        others=multiext("<results>/studies/{study}", *OTHERS),
        finding="<results>/studies/{study}.txt",
    log:
        *log_of("studies/plot_{study}"),
    message:
        "Drawing the study {wildcards.study}"


for NAME, MADE in table_jobs().items():

    rule:
        name:
            NAME
        input:
            models=models_of(MADE.keys),
            rollouts=MADE.rollouts,
            sources=MADE.sources,
        output:
            texts=expand(
                "<results>/{p}/tables/{t}.{k}",
                p=MADE.paper,
                t=MADE.entries,
                k=["csv", "md", "tex"],
            ),
            pages=[
                report(
                    f"<results>/{MADE.paper}/tables/{table}.html",
                    caption="../report/paper_table.rst",
                    category=MADE.paper,
                    subcategory="the paper's figures and tables",
                    labels={"shows": table},
                )
                for table in MADE.entries
            ],
        log:
            *log_of(f"{MADE.paper}/{NAME}"),
        priority: 2
        conda:
            "../../environment.yml"
        params:
            settings=MADE.settings,
        message:
            f"Tabulating {', '.join(MADE.entries)} of {MADE.paper}"
        script:
            "../scripts/tabulate.py"


rule show_example:
    input:
        models=scored_files("estimators", "model"),
        rollouts=scored_files("rolled_out", "rollout"),
        sources=example_sources(),
    output:
        scores="<results>/{paper}/{example}/scores.csv",
        figures=report(
            directory("<results>/{paper}/{example}/figures"),
            patterns=["{figure}.svg"],
            caption="../report/example_figure.rst",
            category="{paper}",
            subcategory="{example}",
            labels={"shows": "{figure}"},
        ),
    log:
        *log_of("{paper}/{example}/show_example"),
    wildcard_constraints:
        paper=among(SHOWN),
    priority: 2
    conda:
        "../../environment.yml"
    params:
        settings=example_settings(),
    message:
        "Scoring and drawing {wildcards.example}"
    script:
        "../scripts/show_example.py"


use rule show_example as score with:
    input:
        models=scored_files("estimators", "model"),
        rollouts=scored_files("rolled_out", "rollout"),
        sources=example_sources(with_figures=False),
    output:
        scores="<results>/{paper}/{example}/scores.csv",
    log:
        *log_of("{paper}/{example}/score"),
    wildcard_constraints:
        paper=among(SCORED_ALONE),
    params:
        settings=example_settings(with_figures=False),
    message:
        "Scoring {wildcards.example}"


# Asked for by name only.
use rule show_example as plot_example with:
    output:
        figures=directory("<results>/{paper}/{example}/figures"),
    log:
        *log_of("{paper}/{example}/plot_example"),
    wildcard_constraints:
        paper=among(SCORED_ALONE),
    message:
        "Drawing the figures of {wildcards.example}"


rule collect_scores:
    """All rows of the scorecard: results/scorecard.csv and .html."""
    input:
        scores=[f"<results>/{p}/{n}/scores.csv" for p, n in PRINTED],
        sources=sources("collect_scores"),
    output:
        csv="<results>/scorecard.csv",
        html=report(
            "<results>/scorecard.html",
            caption="../report/scorecard.rst",
            category="2 Scorecard",
            labels={"shows": "all rows"},
        ),
    log:
        *log_of("collect_scores"),
    conda:
        "../../environment.yml"
    params:
        papers=papers_named(),
    message:
        "Collecting the scorecard"
    script:
        "../scripts/collect_scores.py"


rule compare:
    """Every method on every system as one figure: results/matrix.svg."""
    input:
        scores=[f"<results>/{p}/{n}/scores.csv" for p, n in COMPARED],
        models=models_of(COMPARED),
        usages=lambda w: [f for p, n in COMPARED for f in usages_of(p, n)],
        sources=sources("compare"),
    output:
        csv="<results>/matrix.csv",
        figures=multiext("<results>/matrix", ".svg", *OTHERS),
    log:
        *log_of("compare"),
    conda:
        "../../environment.yml"
    params:
        settings=matrix_settings(),
    message:
        "Comparing every estimator on every system"
    script:
        "../scripts/compare.py"


rule describe:
    input:
        models=lambda w: models_of([(w.paper, w.example)]),
        sources=lambda w: sources("describe", *system_modules([example_of(w)])),
    output:
        law=report(
            "<results>/{paper}/{example}/law.md",
            caption="../report/law.rst",
            category="{paper}",
            subcategory="{example}",
            labels={"shows": "the law"},
        ),
    log:
        *log_of("{paper}/{example}/describe"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
    priority: 2
    conda:
        "../../environment.yml"
    params:
        settings=description_settings,
    message:
        "Describing the laws of {wildcards.example}"
    script:
        "../scripts/describe.py"


rule summarise_papers:
    """The page of all papers: results/index.html."""
    input:
        scorecard="<results>/scorecard.csv",
        pictures=papers_files("png"),
        findings=papers_files("txt"),
        sources=sources("summarise_papers"),
    output:
        page=report(
            "<results>/index.html",
            caption="../report/papers.rst",
            category="1 Summary",
            labels={"shows": "one screen per paper"},
        ),
    log:
        *log_of("summarise_papers"),
    conda:
        "../../environment.yml"
    params:
        settings={p: config["papers"][p] | {"examples": examples_of(p)} for p in PAPERS},
    message:
        "Summarising the papers on one page"
    script:
        "../scripts/summarise_papers.py"


use rule summarise_papers as summarise with:
    input:
        scorecard="<results>/scorecard.csv",
        sources=sources("summarise_papers"),
    output:
        page="docs/results.md",
    log:
        *log_of("summarise"),
    message:
        "Writing docs/results.md"


rule summarise_beyond:
    """The page of our own studies: results/beyond.html."""
    input:
        scores=[f"<results>/{p}/{n}/scores.csv" for p, n in UNPRINTED],
        pictures=expand("<results>/studies/{name}.png", name=BEYOND_STUDIES),
        findings=expand("<results>/studies/{name}.txt", name=BEYOND_STUDIES),
        matrix=["<results>/matrix.png"] if COMPARED else [],
        sources=sources("summarise_beyond"),
    output:
        page=report(
            "<results>/beyond.html",
            caption="../report/beyond.rst",
            category="1 Summary",
            labels={"shows": "beyond the papers"},
        ),
    log:
        *log_of("summarise_beyond"),
    conda:
        "../../environment.yml"
    params:
        sections=beyond_sections(),
    message:
        "Summarising what goes beyond the papers"
    script:
        "../scripts/summarise_beyond.py"


use rule summarise_beyond as document_beyond with:
    output:
        page="docs/beyond.md",
    log:
        *log_of("document_beyond"),
    message:
        "Writing docs/beyond.md"


rule document_machines:
    """The page docs/machines.md."""
    input:
        observations=of_machines("observations.nc"),
        models=of_machines("recommended/model.nc"),
        rollouts=lambda w: [
            f for n in recorded_machines() for f in rollouts_of_recording(n)
        ],
        sources=sources("document_machines"),
    output:
        page="docs/machines.md",
    log:
        *log_of("document_machines"),
    conda:
        "../../environment.yml"
    params:
        settings=machines_settings,
    message:
        "Writing docs/machines.md"
    script:
        "../scripts/document_machines.py"
