# leastaction: the law behind measured motion.
#
#   snakemake                      all papers: figures, tables, scorecard
#   snakemake beyond               our own studies
#   snakemake <paper>              one paper
#   snakemake machines             real machines that others measured (docs/machines.md)
#   snakemake -n                   what would run, and why
#   snakemake --configfile my-rig.yaml      your own recordings (docs/your_own_data.md)

from snakemake.utils import min_version

min_version("9.19")


configfile: workflow.source_path("config/config.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/shown.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/import.smk"
include: "workflow/rules/differentiate.smk"
include: "workflow/rules/assemble.smk"
include: "workflow/rules/identify.smk"
include: "workflow/rules/validate.smk"
include: "workflow/rules/publish.smk"


if config["chunks"] > 1:

    include: "workflow/rules/blocks.smk"


report: "workflow/report/workflow.rst"


wildcard_constraints:
    paper=one_of([*FOLDERS, "recordings"]),
    example=one_of([*(example for _, example in EXAMPLES), *RECORDINGS, *MACHINES]),
    estimator=one_of(ESTIMATORS),
    study=one_of(config["studies"]),


rule recordings:
    default_target: bool(RECORDINGS)
    input:
        [recording_outputs(name) for name in RECORDINGS],
    message:
        "Every law is written; see results/recordings/<name>/law.md"


rule papers:
    default_target: not RECORDINGS
    input:
        "<results>/story.html",
        expand("<results>/scorecard.{kind}", kind=["csv", "md", "html"]),
        [paper_outputs(paper) for paper in PAPERS],
    message:
        "All papers are reproduced; see results/story.html"


rule beyond:
    input:
        expand("<results>/studies.{kind}", kind=["csv", "md", "html"]),
        [
            f"<results>/matrix.{k}"
            for k in ["csv", "md", "html", "svg", "png", "pdf"]
            if COMPARED
        ],
        expand(
            "<results>/studies/{study}.{kind}",
            study=config["studies"],
            kind=KINDS,
        ),
        [paper_outputs(folder) for folder in FOLDERS if folder not in PAPERS],
    message:
        "All studies are made; see results/studies.html"


rule machines:
    input:
        "<results>/machines.html",
    message:
        "The laws of real machines are found; see results/machines.html"


rule gallery:
    input:
        expand("docs/images/gallery/{picture}.png", picture=gallery()),
    message:
        "The pictures of the README are made"


for FOLDER in FOLDERS:

    rule:
        name:
            FOLDER
        input:
            paper_outputs(FOLDER),
        message:
            "Every figure, table and score of this folder is made"
