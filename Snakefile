# `snakemake` in this folder; the workflow itself is laid out as others deploy it.
include: "workflow/Snakefile"


# What is made if nothing is asked for: the file's first rule, which an include is not.
if RECORDINGS:

    use rule recordings as all with:
        default_target: True

else:

    use rule papers as all with:
        default_target: True
