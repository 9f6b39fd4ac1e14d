"""A user's field on a line, or positions at coarse steps, without candidates.

What is held out is predicted by a rollout whose first two snapshots are fitted to the
begin of it: noise of two recorded ones would be that of a velocity.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import scipy.linalg
import xarray as xr
from scipy.special import fdtrc

from leastaction.core.method import step
from leastaction.core.model import LEAST_P_VALUE, interval
from leastaction.core.own_data import (
    NORMAL,
    ROUND_OFF,
    Findings,
    Kind,
    Prediction,
    Samples,
    free_run,
    judged,
    missed,
    one_case,
    percent,
    predicted,
)
from leastaction.core.periodic_line import projection_on_waves
from leastaction.core.recipe import Recipe
from leastaction.snapshots.discrete_lagrangian import discrete_euler_lagrange
from leastaction.snapshots.errors_in_variables import row_jacobian
from leastaction.snapshots.field_evidence import LEAST_SNAPSHOTS, mirrored, others
from leastaction.snapshots.field_models import LearnedField
from leastaction.snapshots.learned_model import LearnedLagrangian

# Share of the snapshots held out that fix the begin of their motion.
SHARE_OF_BEGIN = 0.25
# Runs of what was learned from that say how far forecasts err.
MOST_RUNS = 8
# Standard errors of a correlation that noise has once in 10⁴ times.
LEAST_SCORE = 4.0
# Rms of the ends of a fixed line, over the largest rms of a node.
LARGEST_MOTION_OF_ENDS = 0.1
# Noise over the rms beyond which frequencies have no interval: of 10 draws at 0.1 % 18
# of 20 intervals held, of 6 at 1 % 7 of 12.
LARGEST_NOISE = 3e-3
# Remeasured snapshots that show what noise does to a frequency.
REMEASURED = 4
# Draws of L for errors of its frequencies, Newton steps to a rest, and the distance of
# a multiplier to the unit circle or the real axis that is round-off: that of a free
# coordinate is 1 twice, which round-off splits by its root.
DRAWS, NEWTON_STEPS, UNIT_CIRCLE = 24, 12, 1e-6
MIRROR = {"periodic": 0, "fixed": -1, "free": 1}


class Field(Kind):
    """A field u at even nodes of a line, periodic or with ends."""

    name = "field"
    sections = {"coordinates": True}
    keys = ("position", "length", "ends")
    example = "--time t --trajectory run --coordinate 'u:u_*:mm' --length 6.283"
    about = "waves on a ring of 24 nodes with a stiffening spring at each"

    def demo(self) -> str:
        """Columns `run`, `t` (s), `u_0` ... `u_23` (mm); noise of 0.5 %."""
        rng, nodes, h = np.random.default_rng(1), 24, 0.005
        x = 2 * np.pi / nodes * np.arange(nodes)
        waves = np.fft.rfftfreq(nodes, 1 / nodes)
        rows = [",".join(["run", "t", *(f"u_{j}" for j in range(nodes))])]
        for run in range(8):
            a, b = rng.normal(size=(2, 4, 2)) / [[1], [1], [2], [3]]
            both = np.array(
                [np.cos(np.outer(range(4), x)), np.sin(np.outer(range(4), x))]
            )
            u, v = (0.5 * np.einsum("km,mkj->j", c, both) for c in (a, b))
            for k in range(25 * 20 + 1):
                if k % 20 == 0:
                    cells = u + 2e-3 * rng.standard_normal(nodes)
                    shown = ",".join(f"{1e3 * c:.3f}" for c in cells)
                    rows.append(f"{run},{h * k:.2f},{shown}")
                for weight in (0.5, 1.0, 0.5):  # kick, drift, kick
                    if weight == 1.0:
                        u = u + h * v
                        continue
                    bent = np.fft.irfft(-(waves**2) * np.fft.rfft(u), nodes)
                    v = v + weight * h * (bent - u - u**3)
        return "\n".join(rows) + "\n"

    def of_import(self, part: Mapping) -> str:
        """Sensors at some places do not tell spatial derivatives: of `sensed_field`."""
        return "sensed_field" if part.get("sensors") else self.name

    def data(self, settings: Mapping) -> str:
        """Snapshots of a field."""
        return "field_snapshots"

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """One field, evenly spaced."""
        table, problems = example["import"], []
        if len(table["coordinates"]) != 1:
            problems.append(
                f"import.coordinates: {', '.join(table['coordinates'])}; expected one "
                "field, such as `u`, with a pattern of columns, `u_* [mm]`"
            )
        if table["ends"] not in MIRROR:
            problems.append(
                f"import.ends: {table['ends']!r}; of even nodes expected "
                f"{', '.join(MIRROR)}"
            )
        if not table["position"] and "length" not in table:
            problems.append(
                "import.length: it is missing; write the length of the line, m, or "
                "of a long table the column of the position, `position: {x: m}`"
            )
        return problems

    def observations(self, samples: Samples) -> xr.Dataset:
        """As :meth:`held_out`; a ValueError if neighbouring snapshots are unrelated."""
        return _refuse_unrelated(self.held_out(samples))

    def held_out(self, samples: Samples, like=None) -> xr.Dataset:
        """Contract ``recordings`` on a periodic line; ValueError of too few nodes."""
        (u,) = samples.stacked(LEAST_SNAPSHOTS).values()
        if u.shape[2] < LEAST_SNAPSHOTS:
            raise ValueError(
                f"number of nodes: {u.shape[2]}; expected {LEAST_SNAPSHOTS} or more. "
                "Of a line that a random force shakes fewer are enough: name the place "
                "of each in m, such as `sensors: {u(0.2): u_0}`"
            )
        length, mirror = samples.settings["length"], MIRROR[samples.settings["ends"]]
        (name,) = samples.settings["coordinates"]
        if mirror:
            _refuse_moving_ends(u, mirror)
            u, length = mirrored(u, mirror), 2 * length
        names = [f"{name}_{j}" for j in range(u.shape[2])]
        attrs = {
            "field": name,
            "domain_left": "periodic",
            "domain_right": "periodic",
            "domain_length": float(length),
            "domain_nodes": u.shape[2],
            "mirror": mirror,
        }
        return _recorded(u, names, samples.units["coordinates"][:1], samples, attrs)

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """Rollouts of what was held out, from a begin that is fitted."""
        field = LearnedField.from_dataset(model)
        measured = held_out["q"].values[0]
        nodes = measured.shape[2]
        basis = _wave_basis(nodes, field.waves)

        def run(starts, count):
            first, change = (part @ basis.T for part in np.split(starts, 2, axis=1))
            if not field.stable:
                return np.full((len(starts), count, nodes), np.nan)
            return field.rollout(first, first + change, count - 1)

        forecast = run, basis, field.noise, field.speed_std / field.speed
        made, expected = _prediction(held_out, observations, *forecast)
        made = replace(made, band=_with_law(made, field, observations))
        if held_out.attrs["mirror"]:
            half = slice(nodes // 2 + 1)
            expected, *arrays = (
                [a[:, half] for a in some]
                for some in (expected, made.measured, made.estimate, made.band)
            )
            named = made.names[half], made.units[half]
            made = Prediction(*named, *arrays, made.labels)
        numbers = missed(
            [str(held_out.attrs["field"])],
            made.units[:1],
            *(made, field.noise, expected, _begin(held_out)),
        )
        return replace(made, numbers=numbers)

    def findings(self, model, observations, rollout) -> Findings:
        """Speed of waves and damping; why forecasts are not to be trusted."""
        field, numbers = (
            LearnedField.from_dataset(model),
            json.loads(rollout.attrs["numbers"]),
        )
        refusals, reservations = judged(numbers)
        if not field.stable:
            refusals = [
                "no stable density agrees with the snapshots: the field obeys "
                "no second-order equation of this kind, or steps are too long"
            ]
        if field.density.basis.decay != 1:
            how = "lost" if field.density.basis.decay < 1 else "gained"
            reservations.append(
                f"energy is {how}: {field.field}_tt + γ {field.field}_t with γ = "
                f"{interval(field.damping, NORMAL * field.damping_std)} 1/s"
            )
        if 1 <= field.misfit < np.inf:
            reservations.append(
                f"what the stencil cannot represent is {field.misfit:.2g} times the "
                "variance of the noise; record at shorter steps, or at more nodes"
            )
        half = NORMAL * field.speed_std
        if abs(field.speed) <= half:
            reservations.append(
                "the coupling of neighbouring nodes is not significant, c^2 = "
                f"{interval(field.speed, half)} m²/s²; check the order of the nodes "
                "and their units"
            )
        rows = [
            ("c^2", "waves", field.speed, field.speed_std, "m²/s²"),
            ("gamma", "damping", field.damping, field.damping_std, "1/s"),
        ]
        unit = f"{observations['coordinate_unit'].values[0]}/s²"
        rows += [
            (f"V'({u:.3g})", "force", value, std, unit)
            for u, value, std in field.force.T.tolist()
        ]
        return Findings(
            terms=[] if refusals else rows,
            refusals=refusals,
            reservations=reservations,
            about=str(field),
            scale="The density is unique up to a factor and null Lagrangians. V' is "
            "per mass density: a uniform field u obeys u_tt + γ u_t = -V'(u), in SI.",
            undecided=[
                f"wavenumbers above {field.waves} of {field.nodes // 2} (below noise)"
            ]
            if field.waves < field.nodes // 2
            else [],
            predicted=predicted(numbers),
        )


class Positions(Kind):
    """Positions of a conservative motion at coarse steps, without candidates."""

    name = "snapshots"
    sections = {"coordinates": True}
    example = "--time t --trajectory run --coordinate x:mm --coordinate y:mm"
    about = "a mass on two springs that stiffen, at nine positions a period"

    def demo(self) -> str:
        """Columns `run`, `t` (s), `x`, `y` (mm); noise of 0.1 %."""
        rng, h, between = np.random.default_rng(1), 0.005, 100
        rows = ["run,t [s],x [mm],y [mm]"]
        for run in range(16):
            q, v = rng.uniform(-1, 1, (2, 2))
            for k in range(24 * between + 1):
                if k % between == 0:
                    x, y = 1e3 * (q + 1e-3 * rng.standard_normal(2))
                    rows.append(f"{run},{h * k:.2f},{x:.4f},{y:.4f}")
                v = v - h / 2 * _force_of_demo(q)
                q = q + h * v
                v = v - h / 2 * _force_of_demo(q)
        return "\n".join(rows) + "\n"

    def data(self, settings: Mapping) -> str:
        """Snapshots of positions."""
        return "snapshots"

    def prepared(self, example: Mapping) -> Mapping:
        """Recorded positions have noise: they are adjusted to the motion."""
        method = {"method": "orthogonal_distance_regression"}
        recipes = {
            name: {**recipe, "identify": method | dict(recipe.get("identify") or {})}
            for name, recipe in example["estimators"].items()
        }
        return {**example, "estimators": recipes}

    def observations(self, samples: Samples) -> xr.Dataset:
        """As :meth:`held_out`; a ValueError if neighbouring snapshots are unrelated."""
        return _refuse_unrelated(self.held_out(samples))

    def held_out(self, samples: Samples, like=None) -> xr.Dataset:
        """Contract ``recordings``, angles without jumps."""
        (q,) = samples.stacked(LEAST_SNAPSHOTS).values()
        names, units = (of["coordinates"] for of in (samples.names, samples.units))
        for a, unit in enumerate(units):
            if unit == "rad":
                q[..., a] = np.unwrap(q[..., a], axis=1)
        return _recorded(q, list(names), units, samples, {})

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """Motions of the variational integrator, from a begin that is fitted."""
        lagrangian = LearnedLagrangian.from_dataset(model)
        noise = float(model["row_error"].values[0])
        numbers = _frequencies(model, observations, recipe, library)

        def run(starts, count):
            first, change = np.split(starts, 2, axis=1)
            pairs = zip(first, first + change, strict=True)
            runs = [lagrangian.through(a, b, count - 1).positions for a, b in pairs]
            return np.array(runs)

        errors = np.divide(numbers["frequency_std"], numbers["frequencies"])
        forecast = run, np.eye(lagrangian.basis.dof), noise, errors.min(initial=np.inf)
        made, expected = _prediction(held_out, observations, *forecast)
        named = made.names, made.units
        numbers |= missed(*named, made, noise, expected, _begin(held_out))
        numbers["rms"] = float(np.sqrt((held_out["q"].values ** 2).mean()))
        return replace(made, numbers=numbers)

    def findings(self, model, observations, rollout) -> Findings:
        """Natural frequencies about a rest in the data; L itself has no terms."""
        lagrangian = LearnedLagrangian.from_dataset(model)
        numbers = json.loads(rollout.attrs["numbers"])
        refusals, reservations = judged(numbers)
        noise = float(model["row_error"].values[0])
        pairs = zip(numbers["frequencies"], numbers["frequency_std"], strict=True)
        rows = [
            (f"frequency {k + 1}", "equilibrium", value, error, "Hz")
            for k, (value, error) in enumerate(pairs)
            if not refusals
        ]
        share, p = _run_by_run(lagrangian, observations["q"].values[0])
        if p < LEAST_P_VALUE:
            reservations.insert(
                0,
                "one law does not follow all motions: what it misses of each is linear "
                f"in the positions of that one ({100 * share:.0f} % of the square, "
                f"p = {p:.1g}); check that columns and machine are the same in all",
            )
        undecided = []
        if not rows and not refusals:
            undecided.append("natural frequencies: no stable equilibrium in the data")
        if noise > LARGEST_NOISE * numbers["rms"]:
            rows = [(*row[:3], np.nan, row[4]) for row in rows]
            undecided.append(
                "intervals of the frequencies: at a noise of "
                f"{percent(noise / numbers['rms'])} of the rms motion their bias "
                "exceeds their standard errors"
            )
        return Findings(
            terms=rows,
            refusals=refusals,
            reservations=reservations,
            about=str(lagrangian),
            scale="L is nonparametric: `law.learned` evaluates and integrates it.",
            undecided=undecided,
            predicted=predicted(numbers),
            notes=[f"noise of the positions: {noise:.3g} (SI units)"],
        )


KINDS = {"field": Field(), "snapshots": Positions()}


def _recorded(q, names, units, samples: Samples, attrs: Mapping) -> xr.Dataset:
    """Contract ``recordings`` of positions (trajectory, time, dof), without a sweep."""
    from leastaction.core.contracts import contracts

    return contracts()["recordings"].dataset(
        {
            "q": q[None],
            "noise_q": np.zeros((1, 1, *q.shape)),
            "noise_level": np.zeros(1),
        },
        {
            "replicate": [0],
            "time": samples.time_step * np.arange(q.shape[1]),
            "dof": names,
            "coordinate_unit": ("dof", list(units) * (len(names) // len(units))),
            "noise_mode": ["independent"],
        },
        {"contract": "recordings", "time_step": samples.time_step} | dict(attrs),
    )


def _refuse_unrelated(data: xr.Dataset) -> xr.Dataset:
    """The same data, unless neighbours are unrelated as noise, or columns are alike."""
    q = data["q"].values[0]
    q = q - q.mean(axis=(0, 1))
    before, after = (part.reshape(-1, q.shape[2]) for part in (q[:, :-1], q[:, 1:]))
    products = [(a * b).sum(axis=0) for a in (before, after) for b in (before, after)]
    if "field" in data.attrs:  # nodes are one quantity
        products = [one.sum() for one in products]
    else:
        names = data["dof"].values
        alike = np.abs(np.atleast_2d(np.corrcoef(after.T))) > 1 - ROUND_OFF
        for a, b in np.argwhere(np.triu(alike, 1)):
            raise ValueError(
                f"{names[b]} is a multiple of {names[a]}; name another column"
            )
    related = products[1] / np.sqrt(products[0] * products[3])
    worst = np.abs(related).min()
    if worst < LEAST_SCORE / np.sqrt(before.size / np.size(related)):
        raise ValueError(
            f"neighbouring snapshots are unrelated (correlation {worst:.2g}): they are "
            "noise, or too far apart; record at shorter steps"
        )
    return data


def _refuse_moving_ends(u: np.ndarray, mirror: int) -> None:
    """Fixed ends do not move, but for noise."""
    sizes = np.sqrt((u**2).mean(axis=(0, 1)))
    moving = max(sizes[0], sizes[-1]) / sizes.max()
    if mirror < 0 and moving > LARGEST_MOTION_OF_ENDS:
        raise ValueError(
            f"the ends move by {100 * moving:.0f} % of the largest motion, but "
            "`ends: fixed` states that they do not; check the order of the columns, or "
            "write `ends: free` or `ends: periodic`"
        )


def _wave_basis(nodes: int, highest: int) -> np.ndarray:
    """Orthonormal fields (node, field) of the waves up to a number."""
    values, vectors = np.linalg.eigh(projection_on_waves(nodes, highest))
    return vectors[:, values > 0.5]


def _prediction(
    held_out: xr.Dataset,
    observations: xr.Dataset,
    run: Callable,
    basis: np.ndarray,
    noise: float,
    certain: float,
) -> tuple[Prediction, list[np.ndarray]]:
    """Free runs of what was held out, and what is expected of their errors.

    Starts are the first position and its change, sums of the columns of `basis` (dof,
    column). The interval of a forecast is that of the errors of runs of what was
    learned from, so long after their begin. Expected are the noise, what it makes of
    the start, and a share `certain` of the motion, the error of the law.
    """
    begin = _begin(held_out)

    def runs(q: np.ndarray, with_spread: bool = True) -> list[tuple]:
        starts = [np.concatenate([u[0] @ basis, (u[1] - u[0]) @ basis]) for u in q]
        return [
            free_run(run, u, s, noise, begin, with_spread)
            for u, s in zip(q, starts, strict=True)
        ]

    measured, learned_from = (data["q"].values[0] for data in (held_out, observations))
    rolled_out, learned_from = runs(measured), learned_from[:MOST_RUNS]
    with np.errstate(all="ignore"):
        again = runs(learned_from, with_spread=False)
        errors = [p - q for (p, _), q in zip(again, learned_from, strict=True)]
        late = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    late = np.maximum.accumulate(np.nan_to_num(late, nan=np.inf))
    late = late[np.minimum(np.arange(measured.shape[1]), len(late) - 1)]
    law = certain * measured.std() if np.isfinite(certain) else 0.0
    made = Prediction(
        [str(name) for name in held_out["dof"].values],
        [str(unit) for unit in held_out["coordinate_unit"].values],
        list(measured),
        [path for path, _ in rolled_out],
        [np.broadcast_to(NORMAL * late[:, None], q.shape) for q in measured],
        [f"motion {k + 1}" for k in range(len(rolled_out))],
    )
    return made, [np.sqrt(noise**2 + law**2 + spread**2) for _, spread in rolled_out]


def _with_law(
    made: Prediction, field: LearnedField, observations: xr.Dataset
) -> list[np.ndarray]:
    """Intervals of forecasts, with the error of the law at these very motions.

    Some go farther than those that were learned from. From the same starts other laws
    move by this error, rms over the nodes.
    """
    if not field.stable:
        return list(made.band)
    paths = np.array(made.estimate)
    square = np.zeros(paths.shape[:2])
    densities = others(observations, field.density.basis, field.misfit)
    for weight, density, distance in densities:
        other = replace(field, density=density, distance=distance)
        if other.stable:
            every = round(density.basis.time_step / field.density.basis.time_step)
            known = paths[:, ::every]
            run = other.rollout(known[:, 0], known[:, 1], known.shape[1] - 1)
            error = np.square(run - known).mean(axis=2).repeat(every, axis=1)
            square += weight * error[:, : square.shape[1]]
    square = np.maximum.accumulate(np.nan_to_num(square, nan=np.inf), axis=1)
    pairs = zip(made.band, square, strict=True)
    return [np.sqrt(band**2 + NORMAL**2 * error[:, None]) for band, error in pairs]


def _begin(held_out: xr.Dataset) -> int:
    """Snapshots that a free run is fitted to."""
    return max(4, round(SHARE_OF_BEGIN * held_out.sizes["time"]))


def _force_of_demo(q: np.ndarray) -> np.ndarray:
    x, y = q
    return np.array([2 * x - y + x**3 / 2, 3 * y - x + y**3 / 2])


def _run_by_run(law: LearnedLagrangian, q: np.ndarray) -> tuple[float, float]:
    """Share of squared residuals that a spring of each motion explains, and its p.

    Residuals of the discrete Euler–Lagrange equations on a constant and the positions,
    motion by motion, by the F test (Chow 1960). Noise of positions, whose residuals are
    a moving average with a zero at the natural frequencies, makes the share smaller.
    """
    rows = discrete_euler_lagrange(law.basis, q, law.time_step, law.rule)
    missed = (rows @ law.coefficients).reshape(len(q), -1, q.shape[2])
    ones = np.ones((*missed.shape[:2], 1))
    slopes = np.linalg.qr(np.concatenate([ones, q[:, 1:-1]], axis=2))[0]
    explained = ((slopes.swapaxes(1, 2) @ missed) ** 2).sum()
    total, used = (missed**2).sum(), slopes.shape[2] * missed[:, 0].size
    left = missed.size - used
    ratio = explained / used / max((total - explained) / left, np.finfo(float).tiny)
    return explained / total, float(fdtrc(used, left, ratio))


def _frequencies(model: xr.Dataset, observations, recipe, library) -> dict:
    """Natural frequencies (Hz) about a rest in the data, and their standard errors.

    Small discrete motions zᵏ v about a rest obey (A₀ + z A₁ + z² A₂) v = 0 exactly, as
    the snapshots of the motion itself do: z = e^{iωh}. In squares: the posterior, and
    the changes by one degree less and one more, which stand for what the features
    cannot represent, and the bias that noise makes, which positions with as much noise
    again show (SIMEX, Cook and Stefanski 1994) and which is taken off. Empty without a
    stable rest.
    """
    q, none = observations["q"].values[0], {"frequencies": [], "frequency_std": []}
    lagrangian = LearnedLagrangian.from_dataset(model)
    values = _natural(lagrangian, q)
    if values is None or lagrangian.factor is None or not len(lagrangian.factor):
        return none
    draws = lagrangian.samples(DRAWS, np.random.default_rng(0))
    near = [one for one in (_natural(draw, q) for draw in draws) if one is not None]
    if len(near) < DRAWS:
        return none
    square = np.var(near, axis=0)
    for move in (-1, 1):
        other = _of_degree(int(model["degree"].values[0]) + move, recipe)
        try:
            again = other.dataset(observations, library)
        except ValueError:  # more features than the snapshots determine
            continue
        changed = _natural(LearnedLagrangian.from_dataset(one_case(again)), q)
        if changed is None:
            return none
        square += (changed - values) ** 2
    noise, rng = float(model["row_error"].values[0]), np.random.default_rng(0)
    noisy = []
    for _ in range(REMEASURED):
        again = observations["q"] + noise * rng.standard_normal((1, *q.shape))
        other = recipe.dataset(observations.assign(q=again), library)
        noisy.append(_natural(LearnedLagrangian.from_dataset(one_case(other)), q))
    if any(one is None for one in noisy):
        return none
    bias = np.mean(noisy, axis=0) - values
    values = values - bias
    square += bias**2 + np.var(noisy, axis=0, ddof=1) * (1 + 1 / REMEASURED)
    return {"frequencies": values.tolist(), "frequency_std": np.sqrt(square).tolist()}


def _of_degree(degree: int, recipe: Recipe) -> Recipe:
    """The recipe with features of another degree."""
    settings = recipe.assemble.plain()
    settings["basis"] = {**settings["basis"], "degree": degree}
    steps = {one.stage: one for one in recipe.steps()}
    return Recipe(**steps | {"assemble": step("assemble", settings)})


def _natural(law: LearnedLagrangian, q: np.ndarray) -> np.ndarray | None:
    """Natural frequencies, Hz, ascending; None without a stable rest in the data."""
    n, flat = q.shape[2], q.reshape(-1, q.shape[2])
    rest, low, high = flat.mean(axis=0), flat.min(axis=0), flat.max(axis=0)
    expansion = law.basis, law.coefficients

    def linearised(place: np.ndarray) -> np.ndarray:
        still = np.tile(place, (1, 3, 1))
        rows = row_jacobian(*expansion, still, law.time_step, law.rule)
        return rows[0].reshape(n, 3, n).transpose(1, 0, 2)

    for _ in range(NEWTON_STEPS):
        still = np.tile(rest, (1, 3, 1))
        rows = discrete_euler_lagrange(expansion[0], still, law.time_step, law.rule)
        pull = rows.reshape(n, -1) @ law.coefficients
        move = np.linalg.lstsq(linearised(rest).sum(axis=0), pull, rcond=None)[0]
        rest = rest - move
        if not ((low <= rest) & (rest <= high)).all():
            return None
    before, now, after = linearised(rest)
    eye, zero = np.eye(n), np.zeros((n, n))
    companion = np.block([[zero, eye], [-before, -now]])
    z = scipy.linalg.eigvals(companion, np.block([[eye, zero], [zero, after]]))
    round_off = np.abs([np.abs(z) - 1, z.imag]) < UNIT_CIRCLE
    if not round_off[0].all() or round_off[1].any():
        return None
    return np.sort(np.angle(z)[z.imag > 0]) / (2 * np.pi * law.time_step)
