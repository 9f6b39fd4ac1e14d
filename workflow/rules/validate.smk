rule validate:
    input:
        model="<results>/{paper}/{example}/{estimator}/model.nc",
        sources=sources_of("validate"),
    output:
        rollout="<results>/{paper}/{example}/{estimator}/rollout.nc",
    log:
        *log_of("{paper}/{example}/{estimator}/validate"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
    priority: 6
    conda:
        "../../environment.yml"
    params:
        settings=settings_of("validate"),
    message:
        "Rolling out {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/validate.py"


rule predict:
    input:
        observations="<results>/recordings/{example}/observations.nc",
        model="<results>/recordings/{example}/{estimator}/model.nc",
        sources=sources_of("predict"),
    output:
        rollout="<results>/recordings/{example}/{estimator}/rollout.nc",
    log:
        *log_of("recordings/{example}/{estimator}/predict"),
    wildcard_constraints:
        example=one_of([*RECORDINGS, *MACHINES]),
    priority: 6
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("predict"),
    message:
        "Predicting what {wildcards.example} ({wildcards.estimator}) has not seen"
    script:
        "../scripts/predict.py"
