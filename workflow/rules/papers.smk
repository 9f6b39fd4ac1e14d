# What is made of the papers, and of our own studies.


rule papers:
    """Figures, tables and scorecard of all papers."""
    input:
        "<results>/index.html",
        expand("<results>/scorecard.{kind}", kind=["csv", "html"]),
        [paper_outputs(paper) for paper in PAPERS],
    message:
        DONE["papers"]


rule beyond:
    """Our own studies, beyond the papers."""
    input:
        ["<results>/beyond.html"] if BEYOND else [],
        expand(
            "<results>/studies/{study}.{kind}",
            study=config["studies"],
            kind=KINDS,
        ),
        [paper_outputs(folder) for folder in FOLDERS if folder not in PAPERS],
    message:
        "All studies are made; see results/beyond.html"


for FOLDER in FOLDERS:

    rule:
        """One paper, or one folder of our own examples."""
        name:
            FOLDER
        input:
            paper_outputs(FOLDER),
        message:
            "Every figure, table and score of this folder is made"
