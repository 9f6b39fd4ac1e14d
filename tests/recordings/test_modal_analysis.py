"""Tables of shaken structures as modes: the command, set-ups, refusals."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from frames import frame
from numpy.testing import assert_allclose

import leastaction as la
from leastaction import __main__ as program
from leastaction.ensembles.modes import interval_of_ratio
from leastaction.recordings import modal_analysis
from leastaction.recordings.modal_analysis import modes_table
from leastaction.recordings.splitting import Trajectory

DT = 0.02
SENSORS = "addot + ground", "bddot + ground", "cddot + ground"


def outputs(seed=0, samples=9000):
    data = frame([500.0] * 3, [0.8] * 3, SENSORS, 0.1, samples, DT, seed)
    return data["reading"].values[0]


def table(y, names):
    return pd.DataFrame(
        {"t": DT * np.arange(len(y))} | dict(zip(names, y.T, strict=True))
    )


@cache
def identified(seed, samples=2000):
    """Modes of these outputs; what reads them changes a copy."""
    return la.modes(table(outputs(seed, samples), "abc"), time="t")


def test_the_command_writes_what_python_finds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame_of = table(outputs(0, 4000), ("a [m/s^2]", "b [m/s^2]", "c [m/s^2]"))
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
    data = identified(0).dataset.copy(deep=True)
    data["damping_ratio"][0] = 1e-27
    data["damping_ratio_low"][0], data["damping_ratio_high"][0] = 0.0, 0.0123
    lines = modes_table(data)
    assert "| below 1.2 |" in lines[2] and "e-" not in lines[2]
    assert " … " in lines[3]


def test_moved_sensors_are_joined_by_those_that_stay():
    first, second = outputs(1, 3000), outputs(2, 3000)
    one = la.modes(table(first[:, :2], "ab"), time="t")
    two = la.modes(table(second[:, 1:] * -3.0, "bc"), time="t")
    both = one.merge(two)
    truth = identified(3, 3000)
    assert list(both.dataset["channel"].values) == ["a", "b", "c"]
    assert np.diag(both.mac(truth)).min() > 0.98
    apart = np.abs(both.table["frequency"] - truth.table["frequency"])
    assert (apart < 4 * truth.table["frequency_std"]).all()


def test_shapes_by_name_do_not_depend_on_the_order_of_sensors():
    y, one = outputs(3, 3000), identified(3, 3000)
    other = la.modes(table(y[:, [2, 0, 1]], "cab"), time="t")
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
    text = "fewer than 8 modes are missed, invented"
    assert text in str(la.modes(table(outputs(0, 2000)[:60], "abc"), time="t"))
    assert text not in str(identified(0))


def test_setups_without_a_common_sensor_are_refused():
    y = outputs(1, 2000)
    one, two = (
        la.modes(table(y[:, [i]], n), time="t") for i, n in ((0, "a"), (1, "b"))
    )
    with pytest.raises(ValueError, match="references that do not move"):
        one.merge(two)


def test_lost_samples_are_gaps():
    """As if the recording had ended there, and another one begun behind them."""
    lost, ended = table(outputs(4, 4000), "abc"), table(outputs(4, 4000), "abc")
    lost.loc[1300:1399, list("abc")] = np.nan
    ended["run"] = (ended.index >= 1300).astype(int)
    one = la.modes(lost, time="t").table
    two = la.modes(ended.drop(range(1300, 1400)), time="t", trajectory="run").table
    for name in ("frequency", "damping_ratio", "damping_ratio_std"):
        assert_allclose(one[name], two[name], rtol=1e-9)
    assert list(one["kind"]) == ["mode"] * 3


def test_a_constant_column_is_no_output():
    y = np.hstack([outputs(), np.ones((9000, 1))])
    with pytest.raises(la.RecordingError, match="column of 'd' is constant"):
        la.modes(table(y, "abcd"), time="t")


def test_matlab_files_are_tables(tmp_path):
    from scipy.io import savemat

    y = outputs(5, 2000)
    savemat(tmp_path / "tower.mat", {"acc": y, "fs": 1 / DT, "note": "roof"})
    read = la.modes(tmp_path / "tower.mat", time={"rate": 1 / DT})
    assert list(read.dataset["channel"].values) == ["acc1", "acc2", "acc3"]
    assert_allclose(read.mac(identified(5)), np.eye(3), atol=0.1)


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


def found(frequencies, shapes, names="ab", std=0.01, kinds=None, **attrs):
    """Modes with such shapes, frequencies ± 0.01 and damping ratios of 2 %."""
    f, shapes = np.array(frequencies, dtype=float), np.array(shapes, dtype=complex)
    std = np.broadcast_to(std, f.shape)
    values = {"frequency": f, "frequency_std": std, "frequency_low": f - 2 * std}
    values |= {"frequency_high": f + 2 * std, "damping_ratio": 0 * f + 0.02}
    values |= {"damping_ratio_std": std / 10, "damping_ratio_low": 0 * f + 0.01}
    values |= {"damping_ratio_high": 0 * f + 0.03, "phase_collinearity": 0 * f + 0.99}
    data = {name: ("mode", x) for name, x in values.items()}
    data["kind"] = "mode", kinds or ["mode"] * len(f)
    for part in ("real", "imag"):
        name = "shape_real" if part == "real" else "shape_imaginary"
        data[name] = ("mode", "channel"), getattr(shapes, part)
        data[f"{name}_std"] = ("mode", "channel"), np.full(shapes.shape, 0.02)
    data["line_frequency"] = "line", np.arange(5.0)
    coords = {"mode": np.arange(1, len(f) + 1), "channel": list(names)}
    return modal_analysis.Modes(xr.Dataset(data, coords, attrs), "a tower")


SHAPES = [[1.0, 0.5], [0.5, -1.0 + 0.3j]]


def test_modes_of_the_structure_are_what_is_counted():
    modes = found([1.0, 2.0, 3.0], [*SHAPES, [1, 1]], kinds=["mode", "tone", "mode"])
    assert modes.structural.frequency.values.tolist() == [1.0, 3.0]
    assert_allclose(modes.shapes, [[1, 0.5], [1, 1]])
    assert "frequency_low" in modes.table and "kind" in modes.table
    assert not {"shape_real", "line_frequency"} & {*modes.table}
    assert len(modes.table) == 2


def test_the_modal_assurance_criterion_is_a_squared_cosine():
    modes, other = found([1.0, 2.0], SHAPES), np.array([[1.0, 2.0j]])
    a, b = modes.shapes, other[0]
    expected = np.abs(a.conj() @ b) ** 2 / (np.abs(a) ** 2).sum(axis=1) / 5
    for shapes in (other, other[0], [dict(zip("ba", b[::-1], strict=True))]):
        assert_allclose(modes.mac(shapes)[:, 0], expected)
    turned = found([1.0], [b[::-1]], names="ba")
    assert_allclose(modes.mac(turned)[:, 0], expected)
    # Modes of other sensors are compared in the order they have.
    assert_allclose(modes.mac(found([1.0], [b], names="cd"))[:, 0], expected)
    with pytest.raises(la.RecordingError, match="have 3 sensors; expected 2: a, b"):
        modes.mac([1.0, 2.0, 3.0])


def test_a_mode_of_another_setup_is_near_and_alike():
    """Within three half intervals of both, and with a MAC above 0.8."""
    one = found([1.0], [[1.0, 0.5]])
    reach = 3 * 1.959964 * 0.01 * 2**0.5
    # tan² of the angle beside it is 1/MAC − 1.
    for mac, place in ((0.81, 0), (0.79, None)):
        angle = np.arctan(0.5) + np.arccos(np.sqrt(mac))
        shape = [np.cos(angle), np.sin(angle)]
        found_place = modal_analysis._in_all([one, found([1.0], [shape])], 0)
        assert found_place == (None if place is None else [0, place])
    for apart, expected in ((0.99, [0, 0]), (1.01, None)):
        other = found([1.0 - apart * reach], [[-2.0, -1.0]])
        assert modal_analysis._in_all([one, other], 0) == expected
    several = found([1.03, 0.99, 1.02], [[1.0, 0.5]] * 3)
    assert modal_analysis._in_all([one, several], 0) == [0, 1]
    assert modal_analysis._common(one, found([1], [[1, 1, 1]], "xba")) == [
        (0, 2),
        (1, 1),
    ]


def test_numbers_of_setups_are_weighted_by_their_variances():
    one = found([1.0, 5.0], SHAPES, std=[0.01, 0.01])
    other = found([1.01, 5.2], SHAPES, std=[0.02, 0.02])
    mean, std = modal_analysis._pooled([one.dataset, other.dataset], "frequency")
    assert_allclose(mean, [1.002, 5.04])
    plain = 1 / np.sqrt(1e4 + 2500)
    # They scatter by 0.04² 1e4 + 0.16² 2500 = 80 times their variance, the second.
    assert_allclose(std, [plain, plain * np.sqrt(80)])
    mean, std = modal_analysis._pooled([one.dataset], "frequency")
    assert_allclose([mean, std], [[1.0, 5.0], [0.01, 0.01]])
    both = one.merge(found([1.01, 5.001], SHAPES, std=[0.02, 0.02])).dataset
    assert_allclose(both.frequency, [1.002, 5.0002])
    half = 1.959964 * plain
    assert_allclose(both.frequency_high - both.frequency, half, rtol=1e-5)
    assert_allclose(both.frequency - both.frequency_low, half, rtol=1e-5)
    low, high = interval_of_ratio(np.full(2, 0.02), both.damping_ratio_std.values)
    assert_allclose(both.damping_ratio_low, low)
    assert_allclose(both.damping_ratio_high, high)
    assert both.mode.values.tolist() == [1, 2] and "line_frequency" in both
    assert_allclose(both.phase_collinearity[0], 1)
    with pytest.raises(la.RecordingError, match="no mode is in every set-up"):
        one.merge(found([9.0], [[1, 0.5]]))


@pytest.mark.parametrize("size", [1.0, 0.5, -2.0j])
def test_shapes_of_setups_are_joined_at_common_sensors(size):
    """The error of a further sensor has that of the scale."""
    first, local = np.array([1.0, 0.5]), np.array([0.4, 0.72])
    parts = [
        found([1.0], [size * first]).dataset,
        found([1.0], [local * 1j], names="bc").dataset,
    ]
    shape, errors = modal_analysis._joined_shape(parts, 0, ["a", "b", "c"])
    assert_allclose(shape, [1.0, 0.5, 0.9], atol=1e-12)
    scale, e = abs(size) * 0.5 / 0.4, 0.02 * np.sqrt(2)
    doubt = np.hypot(e, scale * e) / 0.4
    plain = np.array([e, e, np.hypot(scale * e, doubt * 0.72)])
    expected = np.hypot(plain, [0, 0.5 * e, 0.9 * e]) / abs(size)
    expected[0] = 0
    assert_allclose(errors, expected / np.sqrt(2), atol=1e-12)


def test_lines_of_the_table_of_modes():
    modes = found(
        [1.0, 2.0, 3.0],
        [*SHAPES, [1, 1]],
        kinds=["mode", "tone", "mode"],
        order=6,
        highest_frequency=12.5,
        periods=8.0,
    )
    lines = str(modes).split("\n")
    assert lines[0] == "# a tower" and lines[2].startswith("| mode | natural freq")
    first = "| 1 | 1.000 ± 0.020 | 2 (1 … 3) | 1.000 ± 0.039, 0.500 ± 0.039 | 0.990 |"
    assert lines[4] == first and lines[5].startswith("| 2 | 3.000 ± 0.020 |")
    assert lines[-2].startswith(
        "- 2.000 ± 0.020 Hz is no mode of the structure but a t"
    )
    text = str(modes)
    assert "has 6 states, up to 12.5 Hz" in text and "Record longer" not in text
    modes.dataset.attrs["periods"] = 7.9
    assert "has 7.9 periods of the strongest" in str(modes)
    empty = found([2.0], [[1, 1]], kinds=["tone"])
    assert str(empty).split("\n")[2] == "No mode of a structure was identified."
    assert "states" not in str(empty) and "Record longer" not in str(empty)
    for share, words in ((0.9, "below 3"), (1.1, "0.0165 (1 … 3)")):
        modes.dataset["damping_ratio"][0] = share * 0.03 / 200
        cell = str(modes).split("\n")[4].split(" | ")[2]
        assert cell == words if share < 1 else cell.endswith("(1 … 3)")
    modes.known = [[1.0, 0.5]]
    rows = str(modes).split("known shapes")[1]
    assert "- 1: 1.000\n" in rows and "- 2: 0.900\n" in rows


def test_an_imaginary_part_is_shown_where_it_is_not_zero():
    half = 1.959964 * 0.02
    for y, shown in (
        (0.99 * half, ""),
        (1.01 * half, " + (0.040"),
        (-0.1, " − (0.100"),
    ):
        mode = found([1.0], [[1.0, 0.5 + 1j * y]]).dataset.isel(mode=0)
        text = modal_analysis._shape_text(mode)
        end = f"{shown} ± 0.039)i" if shown else ""
        assert text == f"1.000 ± 0.039, 0.500 ± 0.039{end}"
    mode["shape_imaginary_std"][:] = 0.0
    assert "i" not in modal_analysis._shape_text(mode)


@pytest.mark.parametrize(
    ("step", "label", "count"),
    [(1.0, "0", 1), (1.45, "0", 1), (1.55, "0", 2), (-3.0, "0", 2), (1.0, "1", 2)],
)
def test_pieces_of_one_motion_are_joined(step, label, count):
    time = np.arange(10.0)
    later = Trajectory(label, time + 9 + step, 2 * time[:, None], "b")
    parts = [Trajectory("0", time, time[:, None], "a"), later]
    joined = modal_analysis._uncut(parts)
    assert len(joined) == count and joined[0].source == "a"
    if count == 1:
        assert_allclose(joined[0].time, [*time, *(time + 9 + step)])
        assert_allclose(joined[0].values[:, 0], [*time, *(2 * time)])
    third = Trajectory(label, later.time + 10, later.values, "c")
    assert len(modal_analysis._uncut([*parts, third])) == count


def test_outputs_are_all_columns_but_those_of_clock_and_trajectory():
    data = pd.DataFrame({"t [s]": [0.0], "run": [1], "acc [m/s^2]": [2.0], "y": [3.0]})
    about = {"files": [data], "trajectory": "run", "time": {"column": "t"}}
    found_outputs = modal_analysis._outputs(about, {})
    expected = {
        "acc": {"unit": "m/s^2", "column": "acc [m/s^2]"},
        "y": {"unit": "1", "column": "y"},
    }
    assert found_outputs == expected
    rate = {"files": [data.rename(columns={"t [s]": "time"})], "time": {"rate": 9.0}}
    assert list(modal_analysis._outputs(rate, {})) == ["run", "acc", "y"]
    arrays = modal_analysis._outputs({}, {"x": "mm", "y": ""})
    assert arrays == {"x": {"unit": "mm"}, "y": {"unit": "1"}}


def test_sensors_are_columns_with_their_units():
    columns = modal_analysis._columns({"roof": "acc 3 [mm/s^2]", "mid": "g", 7: "m"})
    about = {k: (c.name, c.factor) for k, c in columns.items()}
    assert about["roof"] == ("acc 3", pytest.approx(1e-3))
    assert about["mid"] == ("mid", pytest.approx(9.80665)) and about["7"] == ("7", 1.0)
    with pytest.raises(la.RecordingError, match="no column beside the time"):
        modal_analysis._columns({})


@pytest.mark.parametrize(("ripple", "constant"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_column_moves_beyond_rounding(ripple, constant):
    y = 1 + ripple * (np.arange(40) % 2)
    if constant:
        with pytest.raises(la.RecordingError, match="'x' is constant"):
            modal_analysis.series_of({"x": y}, 0.1, None, None, {})
    else:
        values, dt, columns = modal_analysis.series_of({"x": y}, 0.1, None, None, {})
        assert dt == pytest.approx(0.1) and list(columns) == ["x"]
        assert_allclose(values[0][:, 0], y)
