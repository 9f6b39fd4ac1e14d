# From observations to the models of an estimator and of its readings, in one job: to
# start one takes longer than most stages. Derivatives and libraries, which only it reads,
# are temporary; `--notemp` keeps them.
#
# The rule is `estimate`; with `chunks` above one that of blocks of replicates is
# `estimate_block`. Readings have rules that are named for their example and estimator.


for NAME, (JOB, PART, MAKERS) in estimating().items():
    FIRST = next(iter(JOB))

    rule:
        name:
            NAME
        input:
            observations=f"<results>/{{paper}}/{{example}}/observations{PART}.nc",
            sources=sources_of("estimate", JOB),
        output:
            made=made_by(JOB, PART),
        log:
            *log_of(f"{{paper}}/{{example}}/{FIRST}/identify{PART}"),
        wildcard_constraints:
            paper=among(MAKERS),
        priority: 5
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory,
        params:
            settings=estimator_settings(JOB),
            results=estimator_results(JOB),
        message:
            f"Identifying {{wildcards.example}} ({FIRST.replace('{', '{wildcards.')})"
        script:
            "../scripts/estimate.py"
