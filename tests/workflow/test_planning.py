"""Exactly what must run again does."""

import os
import time

import yaml
from project import BELOW_PAPER, EXAMPLES, ROOT, Project, below

PAPER = "stochastic_lagrangian"
ALL_FIGURES = {
    *(f"Scoring and drawing {e}" for e in EXAMPLES),
    *(f"Drawing figure_{n} of {PAPER}" for n in (1, 2, 4)),
    "Collecting the scorecard",
    "Summarising the papers on one page",
}


def edit(project, path, old, new):
    file = project.folder / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def override(project, **changes):
    file = project.folder / "overrides.yaml"
    config = yaml.safe_load(file.read_text())
    for key, value in changes.items():
        node, *rest = reversed(key.split("__"))
        target = config
        for name in reversed(rest):
            target = target.setdefault(name, {})
        target[node] = value
    file.write_text(yaml.safe_dump(config))


def test_touched_files_comments_and_layout_run_nothing(restored):
    for file in (restored.folder / "src").rglob("*.py"):
        file.write_text("# A comment.\n\n" + file.read_text())
    now = time.time()
    for top in ("config", "workflow", "src", "profiles"):
        path = restored.folder / top
        files = path.rglob("*") if path.is_dir() else [path]
        for file in files:
            os.utime(file, (now, now))
    result = restored.snakemake()
    assert "Nothing to be done" in result.stdout + result.stderr


def test_one_identification_setting_of_each_example(restored):
    """Of one by an override, of the other in its file."""
    override(
        restored,
        examples__stochastic_lagrangian__harmonic__estimators__published__identify={
            "threshold": 701
        },
    )
    edit(
        restored,
        f"config/examples/{PAPER}/duffing.yaml",
        "threshold: 700",
        "threshold: 701",
    )
    assert restored.plan() == {
        "Identifying harmonic (published)",
        *below("harmonic", "published"),
        "Identifying duffing (published)",
        *below("duffing", "published"),
        *BELOW_PAPER,
    }


def test_source_of_one_identification_method(restored):
    edit(
        restored,
        "src/leastaction/ensembles/moment_gmm.py",
        "theta**2 / 3) ** 2",
        "theta**2 / 4) ** 2",
    )
    expected = set(BELOW_PAPER)
    for example in EXAMPLES:
        expected |= {f"Identifying {example} (recommended)"}
        expected |= below(example, "recommended")
    assert restored.plan() == expected


def test_source_of_the_simulation(restored):
    edit(
        restored,
        "src/leastaction/core/simulation.py",
        '"simulate": 0',
        '"simulate": 2',
    )
    plan = restored.plan()
    assert {f"Simulating {e}" for e in EXAMPLES} <= plan
    # A swept threshold is a matter of the job of `published`; what the authors released
    # has no rollout here, and no figures of its own.
    published, recommended = 2, 2
    of_example, as_released = 1 + published + recommended + 1, 1 + 1 + 1
    jobs = len(EXAMPLES) * of_example + as_released
    assert len(plan) == jobs + len(BELOW_PAPER)


def test_style_of_the_figures(restored):
    override(restored, figures={"font_size": 9})
    assert restored.plan() == ALL_FIGURES


def test_source_of_one_figure(restored):
    """The figures of examples show it, too, and one of the paper's does."""
    edit(
        restored,
        "src/leastaction_papers/stochastic_lagrangian/figures/coefficients.py",
        "from leastaction",
        "import math\nfrom leastaction",
    )
    assert restored.plan() == {
        *(f"Scoring and drawing {e}" for e in EXAMPLES),
        f"Drawing figure_1 of {PAPER}",
        "Collecting the scorecard",
        "Summarising the papers on one page",
    }


def test_source_of_the_style(restored):
    edit(restored, "src/leastaction/figures/style.py", "SMALL = 0.85", "SMALL = 0.9")
    assert restored.plan() == ALL_FIGURES


def test_label_of_a_coordinate_reaches_figures_and_tables_only(restored):
    edit(restored, f"config/examples/{PAPER}/harmonic.yaml", "label: X}", "label: Y}")
    plan = restored.plan()
    assert not any(m.startswith(("Simulating", "Identifying", "Rolling")) for m in plan)
    assert "Scoring and drawing harmonic" in plan


def test_one_more_example_touches_no_other(restored):
    source = restored.folder / f"config/examples/{PAPER}/harmonic.yaml"
    new = source.with_name("softer.yaml")
    new.write_text(source.read_text().replace("value: 1000.0", "value: 900.0"))
    try:
        plan = restored.plan()
    finally:
        new.unlink()
    assert "Simulating softer" in plan
    assert not any("harmonic" in message for message in plan)


def test_blocks_are_gathered_where_something_reads_the_whole(finished):
    jobs = finished.plan("--config", "chunks=2")
    assert {job for job in jobs if job.startswith("Gathering")} == {
        f"Gathering {estimator}/{file} of {example}"
        for example in EXAMPLES
        for estimator in ("published", "recommended")
        for file in ("model", "rollout")
    } | {"Gathering published_threshold_400/model of harmonic"}


def test_every_draw_of_a_simulated_machine_is_a_job(tmp_path):
    project = Project.copy(tmp_path / "project")
    (project.folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    pages = "simulated_machines", "fields_at_sensors"
    cases = [
        case
        for page in pages
        for table in yaml.safe_load((ROOT / f"config/{page}.yaml").read_text())[
            "tables"
        ]
        for case in table["cases"]
    ]
    assert project.plan("classes") == {
        *(f"Writing docs/{page}.md" for page in pages),
        "The laws of simulated machines are judged; see docs/simulated_machines.md and "
        "docs/fields_at_sensors.md",
        *(
            f"Judging the law of {case['machine']}, seed {seed}"
            for case in cases
            for seed in case["seeds"]
        ),
    }
