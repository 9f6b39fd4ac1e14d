rule validate:
    input:
        model="<results>/{paper}/{example}/{estimator}/model.nc",
        sources=sources_of("validate"),
    output:
        rollout="<results>/{paper}/{example}/{estimator}/rollout.nc",
    log:
        "<logs>/{paper}/{example}/{estimator}/validate.log",
    benchmark:
        "<logs>/{paper}/{example}/{estimator}/validate.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=30,
    params:
        settings=settings_of("validate"),
    message:
        "Rolling out {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/validate.py"
