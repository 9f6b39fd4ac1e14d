rule record:
    input:
        stand_in="config/stand_ins/{stand_in}.yaml",
        sources=sources("record"),
    output:
        table="<results>/stand_ins/{stand_in}.csv",
    log:
        "<logs>/stand_ins/{stand_in}.log",
    benchmark:
        "<logs>/stand_ins/{stand_in}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=30,
    params:
        settings=stand_in_settings,
    message:
        "Recording the stand-in {wildcards.stand_in}"
    script:
        "../scripts/record.py"


rule import_recording:
    input:
        files=recorded_files,
        sources=sources_of("import"),
    output:
        observations="<results>/recordings/{example}/observations.nc",
    log:
        "<logs>/recordings/{example}/import.log",
    benchmark:
        "<logs>/recordings/{example}/import.tsv"
    wildcard_constraints:
        example=one_of(RECORDINGS),
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
