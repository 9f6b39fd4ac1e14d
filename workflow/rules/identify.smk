rule identify:
    input:
        observations="<results>/{paper}/{example}/observations.nc",
        library=made("library"),
        sources=sources_of("identify"),
    output:
        model="<results>/{paper}/{example}/{estimator}/model.nc",
    log:
        "<logs>/{paper}/{example}/{estimator}/identify.log",
        "<logs>/{paper}/{example}/{estimator}/identify.tsv",
    priority: 5
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("identify"),
    message:
        "Identifying {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/identify.py"
