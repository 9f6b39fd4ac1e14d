# `snakemake` in this folder; the workflow itself is laid out as others deploy it.
include: "workflow/Snakefile"


# What is made if nothing is asked for: the file's first rule, which an include is not.
rule all:
    """All papers, or every recording of your own: what is made without a target."""
    default_target: True
    input:
        rules.recordings.input if RECORDINGS else rules.papers.input if REPLICAS else [],
    message:
        DONE["recordings" if RECORDINGS else "papers"]
