"""Tables of shaken structures as modes: the command, set-ups, refusals."""

import numpy as np
import pandas as pd
import pytest
from frames import frame
from numpy.testing import assert_allclose

import leastaction as la
from leastaction import __main__ as program
from leastaction.recordings.modal_analysis import modes_table

DT = 0.02
SENSORS = "addot + ground", "bddot + ground", "cddot + ground"


def outputs(seed=0, samples=9000):
    data = frame([500.0] * 3, [0.8] * 3, SENSORS, 0.1, samples, DT, seed)
    return data["reading"].values[0]


def table(y, names):
    return pd.DataFrame(
        {"t": DT * np.arange(len(y))} | dict(zip(names, y.T, strict=True))
    )


def test_the_command_writes_what_python_finds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame_of = table(outputs(), ("a [m/s^2]", "b [m/s^2]", "c [m/s^2]"))
    frame_of.to_csv("tower.csv", index=False)
    words = ["--time", "t", "--place", "a=0,3", "--place", "roof=0,9"]
    assert program.main(["modes", "tower.csv", *words]) == 0
    modes = la.modes("tower.csv", time="t", title="tower")
    assert str(modes).strip() in capsys.readouterr().out
    assert len(modes.table) == 3 and modes.mac(modes).round(2).trace() == 3
    read = pd.read_csv("modes/modes.csv")
    assert_allclose(read["frequency"], modes.table["frequency"])
    shape = read["b real"] + 1j * read["b imaginary"]
    assert_allclose(shape, modes.shapes[:, 1])
    with np.load("modes/modes.npz") as exported:
        assert_allclose(exported["Fn"], modes.table["frequency"])
        assert_allclose(exported["Phi"], modes.shapes.T)
        assert_allclose(exported["Xi_std"], modes.table["damping_ratio_std"])
        assert list(exported["sens_names"]) == ["a", "b", "c"]
    for name in modes.figures:
        assert (tmp_path / f"modes/{name}.png").stat().st_size > 1000


def test_a_damping_ratio_of_zero_is_printed_as_its_bound():
    data = la.modes(table(outputs(), "abc"), time="t").dataset.copy(deep=True)
    data["damping_ratio"][0] = 1e-27
    data["damping_ratio_low"][0], data["damping_ratio_high"][0] = 0.0, 0.0123
    lines = modes_table(data)
    assert "| below 1.2 |" in lines[2] and "e-" not in lines[2]
    assert " … " in lines[3]


def test_moved_sensors_are_joined_by_those_that_stay():
    first, second, whole = outputs(1), outputs(2), outputs(3)
    one = la.modes(table(first[:, :2], "ab"), time="t")
    two = la.modes(table(second[:, 1:] * -3.0, "bc"), time="t")
    both = one.merge(two)
    truth = la.modes(table(whole, "abc"), time="t")
    assert list(both.dataset["channel"].values) == ["a", "b", "c"]
    assert np.diag(both.mac(truth)).min() > 0.98
    apart = np.abs(both.table["frequency"] - truth.table["frequency"])
    assert (apart < 4 * truth.table["frequency_std"]).all()


def test_shapes_by_name_do_not_depend_on_the_order_of_sensors():
    y = outputs(3, 2000)
    one, other = (
        la.modes(table(y[:, order], names), time="t")
        for order, names in (([0, 1, 2], "abc"), ([2, 0, 1], "cab"))
    )
    assert_allclose(np.diag(one.mac(other)), 1, atol=1e-6)
    first = dict(zip("abc", one.shapes[0], strict=True))
    assert_allclose([m.mac(first)[0, 0] for m in (one, other)], 1, atol=1e-6)
    with pytest.raises(la.RecordingError, match="has the sensors a; expected c, a, b"):
        other.mac({"a": 1.0})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shape", "1,0.6"], "the shapes have 2 sensors; expected 3: a, b, c"),
        (["--shape", "a=1,b=0.6,roof=2"], "the sensors a, b, roof; expected a, b, c"),
    ],
)
def test_wrong_shapes_end_the_command_in_one_sentence(words, message, tmp_path, capsys):
    table(outputs(0, 2000), "abc").to_csv(tmp_path / "a.csv", index=False)
    words = ["--time", "t", *words, "--out", str(tmp_path / "modes")]
    assert program.main(["modes", str(tmp_path / "a.csv"), *words]) == 1
    assert message in capsys.readouterr().err


def test_joined_setups_have_the_names_of_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y = outputs(1, 2000)
    table(y[:, :2], "ab").to_csv("low.csv", index=False)
    table(y[:, 1:], "bc").to_csv("high.csv", index=False)
    assert (
        program.main(["modes", "low.csv", "high.csv", "--setups", "--time", "t"]) == 0
    )
    assert capsys.readouterr().out.startswith("# low, high\n")


def test_a_short_record_is_reported_as_short():
    y = table(outputs(0, 2000), "abc")
    text = "fewer than 8 modes are missed, invented"
    assert text in str(la.modes(y[:60], time="t"))
    assert text not in str(la.modes(y, time="t"))


def test_setups_without_a_common_sensor_are_refused():
    y = outputs(1)
    one, two = (
        la.modes(table(y[:, [i]], n), time="t") for i, n in ((0, "a"), (1, "b"))
    )
    with pytest.raises(ValueError, match="references that do not move"):
        one.merge(two)


def test_lost_samples_are_gaps():
    y = outputs(4)
    lost = y.copy()
    lost[3000:3100] = np.nan
    lost[5000, 1] = np.nan
    one, other = (la.modes(table(x, "abc"), time="t").table for x in (y, lost))
    assert_allclose(one["frequency"], other["frequency"], rtol=2e-3)
    assert list(other["kind"]) == ["mode"] * 3


def test_a_constant_column_is_no_output():
    y = np.hstack([outputs(), np.ones((9000, 1))])
    with pytest.raises(la.RecordingError, match="column of 'd' is constant"):
        la.modes(table(y, "abcd"), time="t")


def test_matlab_files_are_tables(tmp_path):
    from scipy.io import savemat

    y = outputs(5)
    savemat(tmp_path / "tower.mat", {"acc": y, "fs": 1 / DT, "note": "roof"})
    read = la.modes(tmp_path / "tower.mat", time={"rate": 1 / DT})
    assert list(read.dataset["channel"].values) == ["acc1", "acc2", "acc3"]
    assert_allclose(read.mac(la.modes(table(y, "abc"), time="t")), np.eye(3), atol=0.1)


def test_files_of_the_trade_have_their_clock_and_units(tmp_path):
    from scipy.io import savemat

    pyuff = pytest.importorskip("pyuff")
    y = outputs(5, 2000)
    savemat(tmp_path / "tower.mat", {"acc": y, "fs": 1 / DT})
    of_all = {
        **{"type": 58, "func_type": 1, "rsp_dir": 1, "ref_node": 0, "ref_dir": 0},
        **{"x": DT * np.arange(len(y)), "abscissa_spacing": 1, "abscissa_inc": DT},
        **{f"id{k}": "" for k in range(2, 6)},
        **{f"{axis}_spec_data_type": 0 for axis in ("orddenom", "z_axis")},
    }
    file = pyuff.UFF(str(tmp_path / "tower.uff"))
    for k, values in enumerate(y.T, 1):
        unit = {"ordinate_axis_units_lab": "m/s^2", "id1": f"floor {k}"}
        file.write_sets(of_all | unit | {"rsp_node": k, "data": values}, "add")
    read = [la.modes(tmp_path / f"tower.{end}", time="time") for end in ("mat", "uff")]
    assert_allclose(read[0].table["frequency"], read[1].table["frequency"], rtol=1e-6)
    about = la.describe(tmp_path / "tower.uff")
    assert {c.unit for c in about.of_role("acceleration")} == {"m/s^2"}


def test_integers_of_a_matlab_file_are_columns(tmp_path):
    from scipy.io import savemat

    run = np.repeat(np.arange(2), 100)
    savemat(tmp_path / "a.mat", {"run": run, "x": np.sin(run + 1.0)})
    assert [c.name for c in la.describe(tmp_path / "a.mat").columns] == ["run", "x"]


def test_a_column_that_is_there_twice_is_named():
    y = outputs()[:3000]
    twice = {**dict(zip("abc", y.T, strict=True)), "d": 2 * y[:, 0]}
    with pytest.raises(la.RecordingError, match="columns a and d are linearly"):
        la.modes(twice, time=0.02)


def test_a_damaged_matlab_file_is_refused(tmp_path):
    (tmp_path / "tower.mat").write_bytes(b"MATLAB 7.3" + bytes(600))
    with pytest.raises(la.RecordingError, match="option -v7"):
        la.modes(tmp_path / "tower.mat", time={"rate": 50})
