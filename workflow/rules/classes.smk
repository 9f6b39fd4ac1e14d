# Laws of simulated machines that nothing was tuned for: benchmarks/machines.
SIMULATED = read_yaml(CONFIG / "simulated_machines.yaml")
DRAWS = [
    f"{case['machine']}_{seed}"
    for table in SIMULATED["tables"]
    for case in table["cases"]
    for seed in case["seeds"]
]
GENERATORS = [
    f"{PROJECT}/benchmarks/machines/{name}.py"
    for name in ("blind_machines", "mechanical_classes")
]


rule classes:
    """Laws of simulated machines (docs/simulated_machines.md)."""
    input:
        "docs/simulated_machines.md",
    localrule: True
    message:
        "The laws of simulated machines are judged; see docs/simulated_machines.md"


rule document_classes:
    """The page docs/simulated_machines.md: outcomes by case."""
    input:
        generators=GENERATORS,
        draws=expand("<results>/classes/{draw}.json", draw=DRAWS),
    output:
        page="docs/simulated_machines.md",
    log:
        *log_of("document_classes"),
    localrule: True
    conda:
        "../../environment.yml"
    params:
        tables=SIMULATED["tables"],
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
        machine=one_of(sorted({draw.rpartition("_")[0] for draw in DRAWS})),
        seed=r"\d+",
    conda:
        "../../environment.yml"
    message:
        "Judging the law of {wildcards.machine}, seed {wildcards.seed}"
    script:
        "../scripts/judge_class.py"
