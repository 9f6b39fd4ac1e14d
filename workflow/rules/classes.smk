# Laws of simulated machines that nothing was tuned for: benchmarks/machines.
CLASSES = read_yaml(CONFIG / "machine_classes.yaml")


rule classes:
    """Outcomes of these machines as a table: <results>/classes.md (docs/validation.md)."""
    input:
        expand("<results>/classes/{machine}.md", machine=CLASSES["machines"]),
    output:
        "<results>/classes.md",
    log:
        *log_of("classes"),
    localrule: True
    message:
        "Writing {output}"
    run:
        head = (
            "| machine | outcome | covered | CPU, s | first line |",
            "|---" * 5 + "|",
        )
        rows = [Path(row).read_text().strip() for row in input]
        Path(output[0]).write_text("\n".join([*head, *rows, ""]))


rule judge_class:
    """What is learned of one of them."""
    input:
        machines=[
            f"{PROJECT}/benchmarks/machines/{name}.py"
            for name in ("blind_machines", "mechanical_classes")
        ],
        sources=sources("judge_class"),
    output:
        row="<results>/classes/{machine}.md",
    log:
        *log_of("classes/{machine}"),
    wildcard_constraints:
        machine=one_of(CLASSES["machines"]),
    conda:
        "../../environment.yml"
    params:
        seed=CLASSES["seed"],
    message:
        "Judging the law of {wildcards.machine}"
    script:
        "../scripts/judge_class.py"
