# `snakemake` in this folder; the workflow itself is laid out as others deploy it.
include: "workflow/Snakefile"


rule all:
    default_target: True
    input:
        (rules.recordings if RECORDINGS else rules.papers).input,
    message:
        "Everything asked for by default is made"
