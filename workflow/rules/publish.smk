rule plot_example:
    input:
        models=models,
        rollouts=rollouts,
        sources=sources("plot_example"),
    output:
        svg=report(
            expand(
                "<results>/{{paper}}/{{example}}/figures/{figure}.svg", figure=FIGURES
            ),
            caption="../report/example.rst",
            category="{paper}",
            subcategory="{example}",
            labels=figure_labels,
        ),
        others=expand(
            "<results>/{{paper}}/{{example}}/figures/{figure}.{kind}",
            figure=FIGURES,
            kind=["png", "pdf"],
        ),
    log:
        "<logs>/{paper}/{example}/plot_example.log",
    benchmark:
        "<logs>/{paper}/{example}/plot_example.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        settings=figure_settings,
    message:
        "Drawing the figures of {wildcards.example}"
    script:
        "../scripts/plot_example.py"
