"""A law in C, NumPy and JAX: the accelerations of `acceleration_function`."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from leastaction.core.model import acceleration_function
from leastaction.core.system import System
from leastaction.recordings.source_code import language_of, source_code

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
