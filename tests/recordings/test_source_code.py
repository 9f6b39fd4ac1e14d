"""A law in C, NumPy and JAX: the accelerations of `acceleration_function`."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import xarray as xr

from leastaction.core.model import acceleration_function
from leastaction.core.system import System
from leastaction.recordings.source_code import language_of, left_out, source_code

STATES = 40
# A word of C and one of Python as coordinates, a function of each kind.
ARM = System(
    "1.5*intdot**2 + 0.7*lambda_dot**2 + 0.3*intdot*lambda_dot*cos(int - lambda_)"
    " + 9.81*cos(int) + pi*cos(lambda_) - 0.2*sqrt(1 + int**2)",
    dissipation="0.1*abs(intdot) + 0.2*lambda_dot**2 + 0.1*lambda_dot**2*abs(intdot)",
    inputs=("int",),
)
CHAIN = System(
    "adot**2/2 + bdot**2 + cdot**2*exp(-a)/2 + adot*bdot*cos(a-b)/3"
    " + bdot*cdot*cos(b - c)/4 - a**4 - b**2 - log(1 + c**2)"
)
MAIN = """
#include <stdio.h>
void acceleration(const double *, const double *, const double *, double *);
int main(void)
{
    double q[2] = {0.2, -0.3}, v[2] = {1.0, 2.0}, none[2] = {0.0, 0.0}, h = 5e-4;
    for (int step = 0; step <= 2000; step++) {
        double x[2], u[2], a[4][2], w[4][2];
        if (step % 20 == 0) printf("%.15g %.15g\\n", q[0], q[1]);
        for (int k = 0; k < 4; k++) {
            double part = k == 0 ? 0.0 : k == 3 ? h : h / 2;
            for (int i = 0; i < 2; i++) {
                x[i] = q[i] + (k ? part * w[k - 1][i] : 0.0);
                u[i] = v[i] + (k ? part * a[k - 1][i] : 0.0);
                w[k][i] = u[i];
            }
            acceleration(x, u, none, a[k]);
        }
        for (int i = 0; i < 2; i++) {
            q[i] += h / 6 * (w[0][i] + 2 * w[1][i] + 2 * w[2][i] + w[3][i]);
            v[i] += h / 6 * (a[0][i] + 2 * a[1][i] + 2 * a[2][i] + a[3][i]);
        }
    }
    return 0;
}
"""
SWINGS = System(
    "1.5*adot**2 + 0.7*bdot**2 + 0.3*adot*bdot*cos(a - b) + 9.81*cos(a) + 2*cos(b)",
    dissipation="0.1*adot**2",
)
SYSTEMS = {"arm": ARM, "chain": CHAIN, "cart": System("0.925*xdot**2 - 21*x**2")}


def states(system):
    rng = np.random.default_rng(4)
    return rng.standard_normal((3, STATES, system.dof))


def agrees(found, system, given):
    expected = acceleration_function(system)(*given)
    assert np.abs(found - expected).max() < 1e-13 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("name", SYSTEMS)
def test_c_gives_the_accelerations_to_round_off(name, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    system = SYSTEMS[name]
    (tmp_path / "model.c").write_text(source_code(system, "c"))
    strict = ["-std=c99", "-Wall", "-Werror", "-Wno-unused-variable", "-pedantic"]
    library = tmp_path / "model.so"
    made = ["-shared", "-fPIC", "-o", library, tmp_path / "model.c", "-lm"]
    subprocess.run([compiler, *strict, *made], check=True)
    function = ctypes.CDLL(str(library)).acceleration
    function.argtypes = [ctypes.POINTER(ctypes.c_double)] * 4
    given, found = states(system), []
    for arrays in given.transpose(1, 0, 2):
        row = (ctypes.c_double * system.dof)()
        function(*((ctypes.c_double * system.dof)(*x) for x in arrays), row)
        found.append(list(row))
    agrees(np.array(found), system, given)


def test_a_c_program_moves_as_the_law_does(tmp_path):
    """A Runge–Kutta loop in C around the exported function, compiled and run."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    (tmp_path / "model.c").write_text(source_code(SWINGS, "c"))
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "main"
    sources = [tmp_path / "main.c", tmp_path / "model.c"]
    subprocess.run([compiler, "-std=c99", "-o", program, *sources, "-lm"], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True)
    path = np.array([line.split() for line in printed.stdout.splitlines()], dtype=float)
    start = {"a": 0.2, "b": -0.3, "adot": 1.0, "bdot": 2.0}
    law = SWINGS.simulate(duration=1.0, time_step=0.01, initial_state=start)
    assert np.abs(path - law["q"].values[0, 0]).max() < 1e-8


@pytest.mark.parametrize("language", ["numpy", "jax"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_python_gives_the_accelerations_to_round_off(name, language):
    if language == "jax":
        jax = pytest.importorskip("jax", reason="JAX is not installed")
        jax.config.update("jax_enable_x64", True)
    system, module = SYSTEMS[name], {}
    exec(source_code(system, language), module)
    given = states(system)
    agrees(np.asarray(module["acceleration"](*given)), system, given)


def test_jax_source_is_that_of_numpy():
    """Where JAX is not installed its source is still that of the other module."""
    one, other = (source_code(ARM, name) for name in ("jax", "numpy"))
    assert one.replace("jax.numpy", "numpy") == other


def test_an_ending_or_language_that_is_none():
    with pytest.raises(ValueError, match=r"ending '.fmu'; expected .c"):
        language_of("model.fmu")
    with pytest.raises(ValueError, match="unknown language 'fortran'"):
        language_of("model.c", "fortran")


def test_the_command_writes_a_saved_law(tmp_path, capsys):
    from leastaction.__main__ import main

    time = np.arange(0, 4, 0.01)
    motion = {"x": np.cos(2 * time), "xdot": -2 * np.sin(2 * time)}
    library = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2"]}
    import leastaction as la

    recipe = la.recipes.trajectories.recommended()
    recipe.fit(motion, library, time=time).save(tmp_path / "model.nc")
    model, source = (str(tmp_path / name) for name in ("model.nc", "model.c"))
    assert main(["export", model, source]) == 0
    assert "qddot[0] = f_0/m_0_0;" in (tmp_path / "model.c").read_text()
    assert main(["export", model, str(tmp_path / "model.fmu")]) == 1
    assert "expected .c, or .py" in capsys.readouterr().err


def test_the_heading_states_what_is_left_out():
    model = xr.Dataset(
        {
            "noise_covariance": ("dof", [0.1]),
            "input_lag": ("dof", [0.01]),
            "input_gain": ("dof", [1.3]),
        }
    ).assign(corrections=("replicate", ['{"D: xdot**4": [1, 2, true]}']))
    missing = left_out(model)
    assert len(missing) == 4 and any("D: xdot**4" in one for one in missing)
    assert "the gain of the inputs" in missing
    assert left_out(model.assign(input_gain=("dof", [1.0]))) == [
        one for one in missing if "gain" not in one
    ]
    for language in ("c", "numpy"):
        text = source_code(SYSTEMS["cart"], language, missing)
        assert "Left out: the random force; " in text
    assert left_out(xr.Dataset()) == []
