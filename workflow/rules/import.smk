rule import_recording:
    input:
        files=recorded_files,
        sources=sources_of("import"),
    output:
        observations="<results>/recordings/{example}/observations.nc",
    log:
        *log_of("recordings/{example}/import"),
    wildcard_constraints:
        example=one_of([*RECORDINGS, *MACHINES]),
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("import"),
    message:
        "Importing {wildcards.example}"
    script:
        "../scripts/import.py"
