rule plot_recording:
    input:
        model="<results>/recordings/{example}/recommended/model.nc",
        rollout="<results>/recordings/{example}/recommended/rollout.nc",
        sources=sources("plot_recording"),
    output:
        prediction=report(
            "<results>/recordings/{example}/figures/prediction.svg",
            caption="../report/prediction.rst",
            category="recordings",
            subcategory="{example}",
            labels={"shows": "measured and predicted"},
        ),
        residuals=report(
            "<results>/recordings/{example}/figures/residuals.svg",
            caption="../report/residuals.rst",
            category="recordings",
            subcategory="{example}",
            labels={"shows": "residuals"},
        ),
        others=expand(
            "<results>/recordings/{{example}}/figures/{figure}.{kind}",
            figure=["prediction", "residuals"],
            kind=["png", "pdf"],
        ),
    log:
        "<logs>/recordings/{example}/plot_recording.log",
    benchmark:
        "<logs>/recordings/{example}/plot_recording.tsv"
    wildcard_constraints:
        example=one_of(RECORDINGS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=30,
    params:
        settings={"style": config["figures"]},
    message:
        "Drawing what {wildcards.example} predicts"
    script:
        "../scripts/plot_recording.py"


rule write_law:
    input:
        observations="<results>/recordings/{example}/observations.nc",
        model="<results>/recordings/{example}/recommended/model.nc",
        rollouts=recorded_rollouts,
        sources=sources("write_law"),
    output:
        law=report(
            "<results>/recordings/{example}/law.md",
            caption="../report/law.rst",
            category="recordings",
            subcategory="{example}",
            labels={"shows": "the law"},
        ),
    log:
        "<logs>/recordings/{example}/write_law.log",
    benchmark:
        "<logs>/recordings/{example}/write_law.tsv"
    wildcard_constraints:
        example=one_of(RECORDINGS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=30,
    params:
        settings=lambda wildcards: {
            "title": RECORDINGS[wildcards.example]["title"] or wildcards.example
        },
    message:
        "Writing the law of {wildcards.example}"
    script:
        "../scripts/write_law.py"
