for NAME, SHOWS in FIGURES_OF.items():

    rule:
        name:
            NAME
        input:
            models=["<results>/recordings/{example}/recommended/model.nc"],
            rollouts=recorded_rollouts,
            sources=sources("draw_law", *map(figures().get, SHOWS)),
        output:
            figures=[figure(name, shows) for name, shows in SHOWS.items()],
            others=expand(
                "<results>/recordings/{{example}}/figures/{figure}{kind}",
                figure=SHOWS,
                kind=OTHERS,
            ),
        log:
            *log_of(f"recordings/{{example}}/{NAME}"),
        wildcard_constraints:
            example=recordings_with(NAME),
        conda:
            "../../environment.yml"
        params:
            settings=recording_figures,
        message:
            "Drawing the law of {wildcards.example}"
        script:
            "../scripts/draw_law.py"


rule write_law:
    input:
        observations="<results>/recordings/{example}/observations.nc",
        model="<results>/recordings/{example}/recommended/model.nc",
        rollouts=recorded_rollouts,
        usages=recorded_usages,
        sources=lambda wildcards: sources(
            "write_law", *own_modules(recording(wildcards.example))
        ),
    output:
        law=report(
            "<results>/recordings/{example}/law.md",
            caption="../report/law.rst",
            category="recordings",
            subcategory="{example}",
            labels={"shows": "the law"},
        ),
        saved="<results>/recordings/{example}/law.nc",
    log:
        *log_of("recordings/{example}/write_law"),
    wildcard_constraints:
        example=one_of([*RECORDINGS, *MACHINES]),
    conda:
        "../../environment.yml"
    params:
        settings=lambda wildcards: {
            "title": recording(wildcards.example)["title"] or wildcards.example,
            "results": results("recordings", wildcards.example),
        },
    message:
        "Writing the law of {wildcards.example}"
    script:
        "../scripts/write_law.py"
