rule simulate:
    input:
        sources=sources_of("simulate"),
    output:
        observations="<results>/{paper}/{example}/observations.nc",
    log:
        "<logs>/{paper}/{example}/simulate.log",
    benchmark:
        "<logs>/{paper}/{example}/simulate.tsv"
    wildcard_constraints:
        paper=one_of(FOLDERS),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=30,
    params:
        settings=settings_of("simulate"),
    message:
        "Simulating {wildcards.example}"
    script:
        "../scripts/simulate.py"
