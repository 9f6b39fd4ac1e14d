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
        mem_mb=megabytes,
        runtime=minutes,
    params:
        settings=settings_of("validate"),
    message:
        "Rolling out {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/validate.py"
