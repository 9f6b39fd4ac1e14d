"""Benchmarks: what is timed, compared and pinned; the peers are not needed."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (BENCHMARKS / f"{name}.py").exists():
            del sys.modules[name]


def pins(path):
    pairs = re.findall(r"^([\w.-]+)==([^\s\\]+)", path.read_text(), flags=re.MULTILINE)
    return {name.lower().replace("_", "-"): number for name, number in pairs}


def test_environment_has_the_versions_of_the_lock_and_all_that_the_package_needs():
    ours, lock = pins(BENCHMARKS / "requirements.txt"), pins(ROOT / "requirements.lock")
    assert {n: v for n, v in ours.items() if lock.get(n, v) != v} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=]", d)[0].lower() for d in project["dependencies"]} <= set(
        ours
    )


def test_every_benchmark_of_make_exists_and_is_a_page():
    makefile = (ROOT / "Makefile").read_text()
    for variable in ("PEERS", "COSTS"):
        (names,) = re.findall(rf"^{variable} := (.+)$", makefile, re.M)
        for name in names.split():
            assert (BENCHMARKS / f"{name}.py").exists()
    for path in BENCHMARKS.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 300, path


def test_a_peer_that_refuses_is_reported_and_ours_is_not_excused(benchmarks):
    from cpu import Way, side_by_side

    def refuse():
        raise ImportError("no such package\nand more")

    ours, peer = side_by_side({"ours": Way(lambda: 1, 2), "peer": Way(refuse, 2)})
    assert len(ours.cpu) == 2 and not ours.missing
    assert peer.missing == "ImportError: no such package" and not peer.cpu
    with pytest.raises(ImportError):
        side_by_side({"ours": Way(refuse)})


def test_a_part_of_the_work_is_scaled_to_the_whole(benchmarks, monkeypatch):
    import cpu

    monkeypatch.setattr(cpu, "seconds_of", lambda action: (2.0, 3.0, action()))
    ways = {"whole": cpu.Way(int, 2), "part": cpu.Way(int, 1, cold=True, share=1 / 8)}
    whole, part = cpu.side_by_side(ways)
    assert (whole.cpu, whole.wall) == ([2.0, 2.0], [3.0, 3.0])
    assert (part.cpu, part.wall) == ([16.0, 16.0], [24.0, 24.0])


def timing(name, cpu, missing="", agrees=True):
    return {
        "agrees": agrees,
        "name": name,
        "cpu": cpu,
        "wall": cpu,
        "compilation": None,
        "share": 1.0,
        "note": "",
        "missing": missing,
    }


def test_ratios_are_of_the_same_round_and_the_fastest_peer_decides(benchmarks):
    from report import ratios, table, verdict

    ours = timing("us, method", [1.0, 2.0, 1.0])
    slow, fast = timing("a, slow", [90.0, 180.0]), timing("b, fast", [8.0, 20.0, 9.0])
    gone = timing("c, gone", [], "ModuleNotFoundError: c")
    assert ratios(slow, ours) == [90.0, 90.0]
    timings = [ours, slow, fast, gone]
    assert "not available: ModuleNotFoundError: c" in table(timings)
    assert "Measured: 9 (b, fast); missed. Met against: a, slow" in verdict(timings, 50)
    assert "; met." in verdict([ours, slow], 50)
    wrong = timing("c, wrong", [3.0, 6.0, 3.0], agrees=False)
    said = verdict([ours, slow, fast, wrong], 50)
    assert "3 (c, wrong); missed. Of those whose result agrees: 9 (b, fast)" in said
    assert "agrees: 9 (b, fast); missed." in said
    assert "agrees: 9 (b, fast); met." in verdict([ours, fast, wrong], 5)
    other = timing("us, another method", [0.1, 0.1, 0.1])
    assert "(a, slow); met" in verdict([ours, other, slow], 50)


def test_power_law_is_found_again(benchmarks):
    from cost import power_law

    sizes = [10, 20, 40, 80]
    found = power_law(sizes, [3e-4 * n**1.7 for n in sizes])
    assert found["exponent"] == pytest.approx(1.7)
    assert found["at_the_end"] == pytest.approx(1.7)
    assert found["factor"] == pytest.approx(3e-4)
    assert found["error"] < 1e-6


def test_committed_results_are_those_that_the_report_writes(benchmarks):
    """Every comparison has its section, and no section was added by hand."""
    from report import COMPARISONS, INTRODUCTION

    text = (BENCHMARKS / "results.md").read_text()
    assert text.startswith(INTRODUCTION)
    heads = re.findall(r"^## (.+)$", text, re.M)
    ours = ["Cost of the workflow", "Growth of the cost"]
    assert heads == [*COMPARISONS.values(), *ours]
    assert "Not run." not in text
    assert not re.search(r"(?<![\w.])/(home|tmp|root|work|Users|opt)/", text)
    figure = BENCHMARKS / "cost.png"
    assert ("(cost.png)" in text) == figure.exists()
    assert not figure.exists() or figure.stat().st_size < 60_000


def test_saved_numbers_are_plain_data(benchmarks, tmp_path, monkeypatch):
    import cpu

    monkeypatch.setattr(cpu, "FOLDER", tmp_path / "new")
    cpu.save("one", timings=[cpu.Timing("a", [1.0])])
    content = json.loads((tmp_path / "new" / "one.json").read_text())
    assert content["timings"][0]["cpu"] == [1.0]


def test_a_field_is_timed_from_simulation_to_validation(benchmarks, monkeypatch):
    """Its rollout is another function than that of an ensemble."""
    import stochastic_lagrangian as timed

    monkeypatch.setattr(timed, "cpu_seconds", lambda action: (1.0, action()))
    seconds = timed.measure("wave")
    assert seconds["total"] == 4 and seconds["validate"] == 1
