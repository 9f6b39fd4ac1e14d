# Included with `chunks` above one: each stage in blocks of replicates, then gathered.


wildcard_constraints:
    block=r"[0-9]+_of_[0-9]+",


ruleorder: gather > simulate
ruleorder: gather > differentiate
ruleorder: gather > assemble
ruleorder: gather > identify
ruleorder: gather > validate


use rule simulate as simulate_block with:
    output:
        observations=temp("<results>/{paper}/{example}/observations.{block}.nc"),
    log:
        "<logs>/{paper}/{example}/simulate.{block}.log",
    benchmark:
        "<logs>/{paper}/{example}/simulate.{block}.tsv"


use rule differentiate as differentiate_block with:
    output:
        derivatives=temp(
            "<results>/{paper}/{example}/{estimator}/derivatives.{block}.nc"
        ),
    log:
        "<logs>/{paper}/{example}/{estimator}/differentiate.{block}.log",
    benchmark:
        "<logs>/{paper}/{example}/{estimator}/differentiate.{block}.tsv"


use rule assemble as assemble_block with:
    output:
        library=temp("<results>/{paper}/{example}/{estimator}/library.{block}.nc"),
    log:
        "<logs>/{paper}/{example}/{estimator}/assemble.{block}.log",
    benchmark:
        "<logs>/{paper}/{example}/{estimator}/assemble.{block}.tsv"


use rule identify as identify_block with:
    output:
        model=temp("<results>/{paper}/{example}/{estimator}/model.{block}.nc"),
    log:
        "<logs>/{paper}/{example}/{estimator}/identify.{block}.log",
    benchmark:
        "<logs>/{paper}/{example}/{estimator}/identify.{block}.tsv"


use rule validate as validate_block with:
    output:
        rollout=temp("<results>/{paper}/{example}/{estimator}/rollout.{block}.nc"),
    log:
        "<logs>/{paper}/{example}/{estimator}/validate.{block}.log",
    benchmark:
        "<logs>/{paper}/{example}/{estimator}/validate.{block}.tsv"


rule gather:
    input:
        blocks=blocks,
        sources=sources("gather"),
    output:
        whole="<results>/{paper}/{example}/{file}.nc",
    log:
        "<logs>/{paper}/{example}/{file}.gather.log",
    benchmark:
        "<logs>/{paper}/{example}/{file}.gather.tsv"
    wildcard_constraints:
        paper=one_of(FOLDERS),
        example=one_of(split_examples()),
        file=rf"observations|({one_of(ESTIMATORS)})/({one_of(STAGE_OF)})",
    priority: 5
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes,
    message:
        "Gathering {wildcards.file} of {wildcards.example}"
    script:
        "../scripts/gather.py"
