rule plot_recording:
    input:
        models=["<results>/recordings/{example}/recommended/model.nc"],
        rollouts=["<results>/recordings/{example}/recommended/rollout.nc"],
        sources=sources("draw_law", *map(figures().get, RECORDED)),
    output:
        figures=[figure(name, shows) for name, shows in RECORDED.items()],
        others=expand(
            "<results>/recordings/{{example}}/figures/{figure}{kind}",
            figure=RECORDED,
            kind=OTHERS,
        ),
    log:
        *log_of("recordings/{example}/plot_recording"),
    wildcard_constraints:
        example=one_of({*RECORDINGS, *MACHINES} - {*OF_KINDS}),
    conda:
        "../../environment.yml"
    params:
        settings=recording_figures,
    message:
        "Drawing what {wildcards.example} predicts"
    script:
        "../scripts/draw_law.py"


use rule plot_recording as plot_kind with:
    output:
        figures=[figure("prediction", RECORDED["prediction"])],
        others=expand(
            "<results>/recordings/{{example}}/figures/prediction{kind}", kind=OTHERS
        ),
    log:
        *log_of("recordings/{example}/plot_kind"),
    wildcard_constraints:
        example=one_of(OF_KINDS),


use rule plot_recording as plot_shaken with:
    input:
        models=["<results>/recordings/{example}/recommended/model.nc"],
        sources=sources("draw_law", figures()["spectra"]),
    output:
        figures=[figure(name, shows) for name, shows in SHAKEN.items()],
        others=expand(
            "<results>/recordings/{{example}}/figures/{figure}{kind}",
            figure=SHAKEN,
            kind=OTHERS,
        ),
    log:
        *log_of("recordings/{example}/plot_shaken"),
    message:
        "Drawing what the innovations of {wildcards.example} say"


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
