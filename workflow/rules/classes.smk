# Laws of simulated machines that nothing was tuned for, and of paper 1's fields at a few
# nodes, a page each: benchmarks/machines.
SIMULATED = {
    page: read_yaml(CONFIG / f"{page}.yaml")
    for page in ("simulated_machines", "fields_at_sensors")
}
DRAWS = {
    page: [
        f"{case['machine']}_{seed}"
        for table in listed["tables"]
        for case in table["cases"]
        for seed in case["seeds"]
    ]
    for page, listed in SIMULATED.items()
}
GENERATORS = [
    f"{PROJECT}/benchmarks/machines/{name}.py"
    for name in ("blind_machines", "lines", "mechanical_classes")
]


rule classes:
    """Laws of simulated machines, and of fields at a few sensors."""
    input:
        expand("docs/{page}.md", page=SIMULATED),
    localrule: True
    message:
        "The laws of simulated machines are judged; see docs/simulated_machines.md and "
        "docs/fields_at_sensors.md"


rule document_classes:
    """A page of outcomes by case."""
    input:
        generators=GENERATORS,
        draws=lambda wildcards: expand(
            "<results>/classes/{draw}.json", draw=DRAWS[wildcards.page]
        ),
    output:
        page="docs/{page}.md",
    log:
        *log_of("document_classes/{page}"),
    wildcard_constraints:
        page=one_of(SIMULATED),
    localrule: True
    conda:
        "../../environment.yml"
    params:
        listed=lambda wildcards: SIMULATED[wildcards.page],
    message:
        "Writing {output.page}"
    script:
        "../scripts/document_classes.py"


rule judge_class:
    """What is learned of one draw of a machine."""
    input:
        generators=GENERATORS,
        sources=sources("judge_class"),
    output:
        draw="<results>/classes/{machine}_{seed}.json",
    log:
        *log_of("classes/{machine}_{seed}"),
    wildcard_constraints:
        machine=one_of(
            sorted(
                {draw.rpartition("_")[0] for draws in DRAWS.values() for draw in draws}
            )
        ),
        seed=r"\d+",
    conda:
        "../../environment.yml"
    message:
        "Judging the law of {wildcards.machine}, seed {wildcards.seed}"
    script:
        "../scripts/judge_class.py"
