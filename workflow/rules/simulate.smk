rule simulate:
    input:
        sources=simulate_sources,
    output:
        observations="<results>/{paper}/{example}/observations.nc",
    log:
        "<logs>/{paper}/{example}/simulate.log",
    benchmark:
        "<logs>/{paper}/{example}/simulate.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=30,
    params:
        settings=simulate_settings,
    message:
        "Simulating {wildcards.example}"
    script:
        "../scripts/simulate.py"
