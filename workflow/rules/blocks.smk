# Included with `chunks` above one: each stage in blocks of replicates (those of estimators
# in estimate.smk). A block reads the same block of earlier stages; a whole file is
# gathered where something else reads it.


wildcard_constraints:
    block=r"[0-9]+_of_[0-9]+",


def model_of_block(wildcards):
    """What a block of roll-outs reads: its block of models, or all if fewer are rolled out."""
    part = ".{block}" if reads_block("validate", example_of(wildcards)) else ""
    return f"<results>/{{paper}}/{{example}}/{{estimator}}/model{part}.nc".format(
        **wildcards
    )


def results_of_file(wildcards):
    """Digests of a file that is gathered, and of its blocks."""
    estimator, _, file = wildcards.file.rpartition("/")
    return results(wildcards.paper, wildcards.example, estimator, file)


ruleorder: gather > simulate_large > simulate
ruleorder: gather > validate


use rule simulate as simulate_block with:
    output:
        observations="<results>/{paper}/{example}/observations.{block}.nc",
    log:
        *log_of("{paper}/{example}/simulate.{block}"),


use rule validate as validate_block with:
    input:
        model=model_of_block,
        sources=sources_of("validate"),
    output:
        rollout=temp("<results>/{paper}/{example}/{estimator}/rollout.{block}.nc"),
    log:
        *log_of("{paper}/{example}/{estimator}/validate.{block}"),


rule gather:
    input:
        blocks=blocks,
        sources=sources("gather"),
    output:
        whole="<results>/{paper}/{example}/{file}.nc",
    log:
        *log_of("{paper}/{example}/{file}.gather"),
    wildcard_constraints:
        paper=one_of(FOLDERS),
        example=one_of(split_examples()),
        file=rf"observations|({one_of(ESTIMATORS)})/({one_of(STAGE_OF)})",
    priority: 2
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory,
    params:
        results=results_of_file,
    message:
        "Gathering {wildcards.file} of {wildcards.example}"
    script:
        "../scripts/gather.py"
