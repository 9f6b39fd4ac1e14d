rule simulate:
    input:
        planned,
        motions=stored_motions,
        sources=sources_of("simulate"),
    output:
        observations="<results>/{paper}/{example}/observations.nc",
    log:
        *log_of("{paper}/{example}/simulate"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        settings=settings_of("simulate"),
    message:
        "Simulating {wildcards.example}"
    script:
        "../scripts/simulate.py"


use rule simulate as simulate_large with:
    output:
        observations=temp("<results>/{paper}/{example}/observations.nc"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
        example=one_of(LARGE),
    # First, while nothing else is on the disk.
    priority: 2


ruleorder: simulate_large > simulate


rule record:
    input:
        stand_in=local(within(CONFIG / "stand_ins" / "{stand_in}.yaml")),
        sources=sources("record"),
    output:
        table="<results>/stand_ins/{stand_in}.csv",
    log:
        *log_of("stand_ins/{stand_in}"),
    priority: 1
    conda:
        "../../environment.yml"
    params:
        settings=stand_in_settings,
    message:
        "Recording the stand-in {wildcards.stand_in}"
    script:
        "../scripts/record.py"
