rule import_recording:
    input:
        files=recorded_files,
        sources=sources_of("import"),
    output:
        observations="<results>/recordings/{example}/observations.nc",
    log:
        "<logs>/recordings/{example}/import.log",
        benchmark="<logs>/recordings/{example}/import.tsv",
    wildcard_constraints:
        example=one_of(RECORDINGS),
    priority: 1
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=60,
    params:
        settings=settings_of("import"),
    message:
        "Importing {wildcards.example}"
    script:
        "../scripts/import.py"
