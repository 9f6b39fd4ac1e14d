"""Modal moments: sums over the ensemble, however it is walked through."""

import numpy as np
import pytest
import xarray as xr
from field_recipes import LIBRARY, Recommended, observe, string

from leastaction.core.contracts import problems
from leastaction.fields import modal_moments
from leastaction.fields.contracts import CONTRACTS
from leastaction.fields.domain import Domain, Potential
from leastaction.fields.ensemble import domain_and_library, domain_attributes
from leastaction.fields.library import FieldLibrary

SUMS = ("moment", "instrument_gram")


@pytest.fixture(scope="module")
def paths():
    return observe(string(), trajectories=4, steps=2000)


@pytest.fixture(scope="module")
def expected(paths):
    return Recommended(paths)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * np.abs(b).max())


def test_they_honour_their_contract(expected):
    assert problems(expected.moments, "modal_moments") == []


@pytest.mark.parametrize("block", [57, 10**6])
def test_sums_do_not_depend_on_the_size_of_the_blocks(
    block, paths, expected, monkeypatch
):
    monkeypatch.setattr(modal_moments, "SAMPLES_PER_BATCH", block)
    found = Recommended(paths).moments
    for name in SUMS:
        for g in range(2):
            for i in np.ndindex(found[name].shape[2:-2]):
                close(
                    found[name].values[0, g][i], expected.moments[name].values[0, g][i]
                )


def test_nothing_depends_on_the_order_of_the_trajectories(paths, expected):
    found = Recommended(paths.isel(trajectory=[2, 0, 3, 1]))
    close(found.lagrangian.coefficients, expected.lagrangian.coefficients)
    close(found.lagrangian.std, expected.lagrangian.std)
    close(found.volatility().volatility, expected.volatility().volatility)


def test_they_agree_with_the_definition(paths):
    """By hand for u_x², whose force on its own eigenvectors is −λ q."""
    dt = 1e-3
    library = LIBRARY | {"lagrangian": [{"terms": ["u_t**2", "u_x**2"]}]}
    found = Recommended(paths, library)
    domain_cell = 0.01
    phi = found.basis["phi"].values[0]
    group = found.basis["group"].values[0]
    eigenvalue = 4 * np.sin(np.arange(1, 13) * np.pi / 26) ** 2 / domain_cell**2
    q = np.einsum("jkn,nm->jkm", paths["u"].values[0], domain_cell * phi)
    force = 2 * eigenvalue * q
    second = np.diff(q, n=2, axis=1)
    columns = [
        2 * second / dt,
        -dt * force[:, 1:-1],
        -dt * np.diff(force, n=2, axis=1),
    ]
    for g in range(2):
        z = force[:, :-2, group == g]
        for i, column in enumerate(columns):
            close(
                found.moments["moment"].values[0, g, 0, i],
                (z * column[..., group == g]).sum(),
            )
        close(found.moments["instrument_gram"].values[0, g, 0, 0, 0], (z * z).sum())


def test_uninformative_candidates_change_nothing(paths, expected):
    null = LIBRARY | {
        "lagrangian": [*LIBRARY["lagrangian"], {"pooled": ["u*u_x", "u_xx", "u_t"]}]
    }
    found = Recommended(paths, null)
    for name in ("moment", "increment_gram"):
        close(found.moments[name].values[0, 0], expected.moments[name].values[0, 0])
    assert found.support == expected.support
    assert found.coefficient() == pytest.approx(expected.coefficient(), rel=1e-12)


# Two paths of five nodes, drawn: sums are sums, whatever the motion.
RANDOM = np.random.default_rng(8)
DRAWN = xr.Dataset(
    {
        "u": (
            ("replicate", "trajectory", "time", "node"),
            RANDOM.normal(size=(1, 2, 9, 5)),
        )
    },
    coords={"replicate": [0], "time": 0.5 * np.arange(9)},
    attrs=domain_attributes("u", Domain(3.0, 5, "fixed", "fixed")) | {"time_step": 0.5},
)
ALL = {"reference": "3*u_t**2", "lagrangian": [{"terms": ["u**4", "u_t**2", "u_x**2"]}]}


def basis(turns, groups) -> xr.Dataset:
    """Eigenvectors of u_x², with angles per sample as if measured."""
    _, terms = domain_and_library(DRAWN, ALL)
    domain = Domain(3.0, 5, "fixed", "fixed")
    operator, phi = modal_moments.test_functions(terms, domain)
    return CONTRACTS["modal_basis"].dataset(
        {"phi": phi, "turn": np.array(turns), "group": np.array(groups, dtype="int8")},
        coords={"replicate": [0], "node": domain.x, "mode": np.arange(1, 6)},
        attrs={"operator": operator},
    )


@pytest.mark.parametrize("decimate", [1, 2, 3])
@pytest.mark.parametrize("block", [3, 128])
def test_sums_are_those_of_loops_over_samples_and_modes(decimate, block, monkeypatch):
    """Also where a batch is cut; the second moments of X see some pairs alone."""
    monkeypatch.setattr(modal_moments, "SAMPLES_PER_BATCH", block)
    turns, groups = [0.1, 0.2, 0.3, 0.5, 0.9], [0, 0, 1, 1, 2]
    modes, dt = basis(turns, groups), 0.5
    made = modal_moments.assemble(DRAWN, modes, {"decimate": decimate}, ALL)
    phi = modes["phi"].values[0]
    assert made["largest_turn"].values.tolist() == [[0.2, 0.5]]
    assert made["used"].values.tolist() == [1, 0, 1]
    assert made["spatial_order"].values.tolist() == [0, 0, 1]
    assert made.attrs["reference_coefficient"] == 3
    top = "u_x**2"
    assert made["instrument"].values.tolist() == [
        *("u**4", top),
        *(f"{top} (omega dt)^2", f"{top} (omega dt)^4"),
    ]
    for g in (0, 1):
        z_x, z_z = np.zeros((4, 5)), np.zeros((2, 4, 4))
        x_x, count, pairs = np.zeros((2, 5, 5)), 0, 0
        for path in DRAWN["u"].values[0]:
            full = np.pad(path, [(0, 0), (1, 1)])  # ends at rest; dx = 1/2
            forces = np.stack([4 * path**3 * 0.5, -4 * np.diff(full, 2, axis=1)])
            q, f = 0.5 * path @ phi, forces @ phi
            last = (np.array(turns) / 0.5) ** 2
            z = np.concatenate([f, f[1:] * last, f[1:] * last**2])
            x = [2 / dt * np.diff(q, 2, axis=0)[None], -dt * f[:, 1:-1]]
            x = np.concatenate([*x, -dt * np.diff(f, 2, axis=1)])
            for m in np.flatnonzero(np.array(groups) == g):
                for start in range(0, 7, block):
                    steps = min(block, 7 - start)
                    for k in range(start, start + steps):
                        z_x += np.outer(z[:, k, m], x[:, k, m])
                        z_z[0] += np.outer(z[:, k, m], z[:, k, m])
                        z_z[1] += np.outer(z[:, k, m], z[:, k + 1, m])
                        count += 1
                    for k in range(start, start + steps - 1, decimate):
                        x_x[0] += np.outer(x[:, k, m], x[:, k, m])
                        x_x[1] += np.outer(x[:, k, m], x[:, k + 1, m])
                        pairs += 1
        for both in (z_z, x_x):
            both[1] += both[1].T
        assert made["samples"].values[0, g] == count
        assert made["pairs"].values[0, g] == pairs
        close(made["moment"].values[0, g], z_x)
        close(made["instrument_gram"].values[0, g], z_z)
        close(made["increment_gram"].values[0, g], x_x * count / pairs)


def test_angles_are_those_of_evenly_spaced_triples(monkeypatch):
    test = RANDOM.normal(size=(5, 3))

    def expected(step):
        squares = np.zeros((2, 3))
        for path in DRAWN["u"].values[0] @ test:
            for k in range(0, 7, step):
                rise, next_ = path[k + 1] - path[k], path[k + 2] - path[k + 1]
                squares += rise**2, (next_ - rise) ** 2
        return np.sqrt(squares[1] / squares[0])

    for most, step in ((20_000, 1), (14, 1), (7, 2), (5, 2), (4, 3)):
        monkeypatch.setattr(modal_moments, "MOST_TRIPLES_OF_SAMPLES", most)
        close(modal_moments.turn_per_sample(DRAWN["u"], test), expected(step))


def test_modes_are_grouped_by_their_angles(caplog):
    """Cuts are the settings, or five times the floor √(2/N) of the process noise."""
    long = DRAWN.isel(time=np.zeros(5000, dtype=int)).assign_coords(
        time=np.arange(5000)
    )
    wave = np.arange(5000)[:, None] * np.array([0.05, 0.15, 0.3, 0.6, 1.2])
    phi = basis([0] * 5, [0] * 5)["phi"].values[0]
    u = np.cos(wave) @ phi.T
    long["u"] = (long["u"].dims, np.stack([u, u])[None])
    turn = 2 * np.sin(np.array([0.05, 0.15, 0.3, 0.6, 1.2]) / 2)

    def grouped(data, resolved, dispersive):
        cuts = {"resolved": resolved, "dispersive": dispersive}
        made = modal_moments.differentiate(data, cuts, ALL)
        np.testing.assert_allclose(made["turn"].values[0], turn, rtol=1e-2)
        return made["group"].values[0].tolist()

    assert grouped(long, 0.2, 0.4) == [0, 0, 1, 2, 2]
    assert "3 of 5 modes turn by more than 0.2 rad per sample" in caplog.text
    assert grouped(long, 0.01, 0.02) == [0, 2, 2, 2, 2]  # 5 √(2/5000) = 0.1
    few = long.isel(time=slice(0, 1000))  # 5 √(2/1000) = 0.22
    assert grouped(few, 0.01, 0.4) == [0, 0, 1, 2, 2]
    caplog.clear()
    assert grouped(long, 1.2, 1.3) == [0] * 5 and not caplog.text
    fast = long.isel(time=slice(None, None, 12))
    message = r"turns by .* rad per sample, more than 0.35: no mode is resolved"
    with pytest.raises(ValueError, match=message):
        modal_moments.differentiate(fast, {"resolved": 0.2, "dispersive": 0.4}, ALL)


def test_test_functions_are_modes_of_the_highest_quadratic_candidate():
    domain = Domain(1.0, 6, "clamped", "free")
    config = ALL | {"lagrangian": [{"terms": ["u_t**2", "u**2", "u_xx**2", "u_x**2"]}]}
    terms = FieldLibrary.from_config(config, "u")
    name, phi = modal_moments.test_functions(terms, domain)
    assert name == "u_xx**2"
    stiffness = Potential(terms.terms[2], "u", domain).stiffness
    mass = np.diag(domain.cell)
    np.testing.assert_allclose(phi.T @ mass @ phi, np.eye(6), atol=1e-12)
    values = np.diag(phi.T @ stiffness @ phi)
    assert (np.diff(values) > 0).all()
    close(stiffness @ phi, mass @ phi * values)
    bent = FieldLibrary.from_config(
        ALL | {"lagrangian": [{"terms": ["u_t**2", "u**4"]}]}, "u"
    )
    with pytest.raises(ValueError, match=r"add u_x\*\*2 or u_xx\*\*2. Candidates: u_t"):
        modal_moments.test_functions(bent, domain)
