rule assemble:
    input:
        observations="<results>/{paper}/{example}/observations.nc",
        derivatives=made("derivatives"),
        sources=sources_of("assemble"),
    output:
        library="<results>/{paper}/{example}/{estimator}/library.nc",
    log:
        "<logs>/{paper}/{example}/{estimator}/assemble.log",
        "<logs>/{paper}/{example}/{estimator}/assemble.tsv",
    priority: 4
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("assemble"),
    message:
        "Assembling the library of {wildcards.example} ({wildcards.estimator})"
    script:
        "../scripts/assemble.py"


use rule assemble as assemble_large with:
    output:
        library=temp("<results>/{paper}/{example}/{estimator}/library.nc"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
        example=one_of(LARGE),


ruleorder: assemble_large > assemble
