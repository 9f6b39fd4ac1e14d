# From observations to the model of an estimator. Stages whose files no other estimator
# reads are done in one job: to start one takes longer than most of them. What only such a
# job reads is temporary, as it makes it anyway; `--notemp` keeps it.
#
# Rules are named for their stages, such as `differentiate_assemble_identify`.


for (STAGES_DONE, DROPPED), MAKERS in estimating().items():

    rule:
        name:
            "_".join(STAGES_DONE) + "_large" * DROPPED
        input:
            unpack(read_by(STAGES_DONE[0])),
            observations="<results>/{paper}/{example}/observations.nc",
            sources=sources_of("estimate", *STAGES_DONE),
        output:
            **made_by(STAGES_DONE, DROPPED),
        log:
            f"<logs>/{{paper}}/{{example}}/{{estimator}}/{STAGES_DONE[-1]}.log",
            f"<logs>/{{paper}}/{{example}}/{{estimator}}/{STAGES_DONE[-1]}.tsv",
        wildcard_constraints:
            paper=among(MAKERS),
        priority: 3 + STAGES.index(STAGES_DONE[-1])
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory,
        params:
            settings=estimator_settings(STAGES_DONE),
        message:
            f"{DOES[STAGES_DONE[-1]]} {{wildcards.example}} ({{wildcards.estimator}})"
        script:
            "../scripts/estimate.py"
