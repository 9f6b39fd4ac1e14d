rule differentiate:
    input:
        observations="<results>/{paper}/{example}/observations.nc",
        sources=sources_of("differentiate"),
    output:
        derivatives="<results>/{paper}/{example}/{estimator}/derivatives.nc",
    log:
        "<logs>/{paper}/{example}/{estimator}/differentiate.log",
        "<logs>/{paper}/{example}/{estimator}/differentiate.tsv",
    priority: 3
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("differentiate"),
    message:
        "Differentiating {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/differentiate.py"


use rule differentiate as differentiate_large with:
    output:
        derivatives=temp("<results>/{paper}/{example}/{estimator}/derivatives.nc"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
        example=one_of(LARGE),


ruleorder: differentiate_large > differentiate
