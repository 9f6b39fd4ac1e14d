"""A user's port-Hamiltonian system: states, inputs and outputs of its ports.

Held-out motions are free runs under the recorded inputs, from an initial state that is
fitted to them; outputs are those of the run, y = Bᵀ∇H.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.core.own_data import (
    NORMAL,
    Findings,
    Kind,
    Prediction,
    Samples,
    free_run,
    judged,
    missed,
    predicted,
)
from leastaction.core.units import registry, shortest
from leastaction.ports.coefficient_fit import noise_std
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.dae import runge_kutta_step
from leastaction.ports.model import StructureModel

# Samples of a motion: twice the window of a test function.
LEAST_SAMPLES = 120
# What is known, by the assumptions of a gauge dimension.
OPEN_IF = {
    "unknown": "states and inputs alone",
    "unknown, outputs": "states, inputs and outputs, without the zeros of J, R and B,",
    "J known, outputs": "states, inputs, outputs and a known J",
    "found": "the data, with these zeros,",
}
# Letters of the parts of a model, and their names in its dataset.
PARTS = {"J": "structure", "R": "dissipation", "B": "port"}


class Ports(Kind):
    """States, inputs and, where they were measured, outputs."""

    name = "ports"
    sections = {"states": True, "inputs": True, "outputs": False}
    example = (
        "--time t --trajectory run --state phi:'V s' --state p:'J s' "
        "--input v:V --output v:i:A"
    )
    about = "flux and angular momentum of a motor, its voltage and its current"

    def demo(self) -> str:
        """Columns `run`, `t` (s), `phi` (V s), `p` (J s), `v` (V), `i` (A)."""
        rng, h = np.random.default_rng(1), 0.02
        rows = ["run,t,phi [V s],p [J s],v [V],i [A]"]
        time = h * np.arange(501)
        for run in range(4):
            rate, phase = rng.uniform(0.3, 3.0, 5), rng.uniform(0, 2 * np.pi, 5)

            def voltage(t, rate=rate, phase=phase):
                return 0.6 * np.sin(np.multiply.outer(t, rate) + phase).sum(axis=-1)

            def motor(x, u):
                current, speed = x[:, :1] / 0.5, x[:, 1:] / 0.25
                torque = 0.5 * current - 0.2 * speed
                return np.concatenate([u - 0.5 * speed - current, torque], axis=1)

            x = rng.uniform(-1, 1, (1, 2))
            for t in time:
                sensed = x[0] + 2e-3 * rng.standard_normal(2)
                current = x[0, 0] / 0.5 + 4e-3 * rng.standard_normal()
                cells = [*sensed, voltage(t), current]
                rows.append(f"{run},{t:.2f}," + ",".join(f"{c:.6f}" for c in cells))
                u = (np.array([[voltage(t + s)]]) for s in (0, h / 2, h))
                x = runge_kutta_step(motor, x, h, *u)
        return "\n".join(rows) + "\n"

    def data(self, settings: Mapping) -> str:
        """Driven motions."""
        return "driven_port"

    def prepared(self, example: Mapping) -> Mapping:
        """Candidates of H and whether there are outputs, as settings of `assemble`.

        Without candidates, all products of two states, third and fourth powers.
        """
        sections, library = example["import"], dict(example.get("library") or {})
        names = list(sections.get("states") or {"state": None})
        powers = [f"{x}**{k}" for x in names for k in (3, 4)]
        squares = {"polynomial": {"of": names, "degree": 2, "lowest": 2}}
        usual = [squares, {"terms": powers}]
        settings = {
            "hamiltonian": library.pop("hamiltonian", usual),
            "outputs": bool(sections.get("outputs")),
        }
        recipes = {
            name: {**recipe, "assemble": settings | dict(recipe.get("assemble") or {})}
            for name, recipe in example["estimators"].items()
        }
        return {**example, "library": library, "estimators": recipes}

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """Outputs are those of the ports: with its input each makes a power."""
        problems, inputs = [], units["inputs"]
        for name, unit in units.get("outputs", {}).items():
            if name not in inputs:
                problems.append(
                    f"import.outputs.{name}: there is no input {name!r}; outputs have "
                    f"the names of the ports, {', '.join(inputs)}"
                )
                continue
            power = registry()(inputs[name]) * registry()(unit)
            watt = registry()("W").dimensionality
            known = "1" not in (unit, inputs[name])
            if known and power.dimensionality != watt:
                problems.append(
                    f"import.outputs.{name}: the input is in {inputs[name]} and the "
                    f"output in {unit}, whose product is no power; name the conjugate "
                    "output, such as the current of a voltage"
                )
        missing = [
            n for n in inputs if units.get("outputs") and n not in units["outputs"]
        ]
        if missing:
            problems.append(
                f"import.outputs: {', '.join(missing)} is missing; give the output of "
                "every port, or none"
            )
        return problems

    def observations(self, samples: Samples) -> xr.Dataset:
        """Contract ``port_motions``; ValueError of short motions."""
        arrays = samples.stacked(LEAST_SAMPLES)
        names = samples.names
        ports = names["inputs"]
        x, u = arrays["states"], arrays["inputs"]
        y, units_of_outputs = np.zeros_like(u), []
        if "outputs" in arrays:
            order = [names["outputs"].index(name) for name in ports]
            y = arrays["outputs"][..., order]
            units_of_outputs = [samples.units["outputs"][k] for k in order]
        about = {
            "units_of_states": list(samples.units["states"]),
            "units_of_inputs": list(samples.units["inputs"]),
            "units_of_outputs": units_of_outputs,
        }
        noise = {"noise_x": np.zeros_like(x)[None], "noise_y": np.zeros_like(y)[None]}
        return CONTRACTS["port_motions"].dataset(
            {"x": x[None], "u": u[None], "y": y[None]}
            | {name: values[None] for name, values in noise.items()},
            {
                "replicate": [0],
                "time": samples.time_step * np.arange(x.shape[1]),
                "state": list(names["states"]),
                "row": list(names["states"]),
                "effort": [f"z_{name}" for name in names["states"]],
                "port": list(ports),
                "noise_mode": ["independent"],
                "noise_level": np.zeros(1),
            },
            {"contract": "port_motions", "time_step": samples.time_step} | about,
        )

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """Free runs of states and outputs; infinite where a run is lost."""
        structure = StructureModel(model.isel(replicate=[0]))
        measured, u = (held_out[name].values[0] for name in ("x", "u"))
        names = [str(name) for name in held_out["state"].values]
        units = list(np.atleast_1d(held_out.attrs["units_of_states"]))
        outputs = list(np.atleast_1d(held_out.attrs.get("units_of_outputs", [])))
        with_outputs = bool(outputs) and not structure.refusal
        if with_outputs:
            measured = np.concatenate([measured, held_out["y"].values[0]], axis=2)
            names += [f"output_{name}" for name in held_out["port"].values]
            units += outputs
        noise, n = noise_std(measured), len(structure.states)
        step, runs = float(held_out.attrs["time_step"]), []
        for one, pushed in zip(measured, u, strict=True):
            run = _runs(structure, pushed, step, with_outputs)
            runs.append(free_run(run, one, one[0, :n], noise, len(one)))
        # Its entries have errors of their own, at least those of the most certain one.
        rows = [] if structure.refusal else list(_terms(structure, observations))
        certain = min(
            (std / abs(value) for *_, value, std, _ in rows if std > 0), default=0
        )
        law = certain * measured.std(axis=(0, 1))
        expected = [np.sqrt(noise**2 + law**2 + s**2) for _, s in runs]
        made = Prediction(
            names,
            units,
            list(measured),
            [path for path, _ in runs],
            [NORMAL * one for one in expected],
            [f"motion {i + 1}" for i in range(len(runs))],
        )
        misses = missed(names, units, made, noise, expected, 0)
        return replace(made, numbers=misses)

    def findings(self, model, observations, rollout) -> Findings:
        """Entries of J, R, B and H; nothing of a form that does not fit."""
        law, misses = StructureModel(model), json.loads(rollout.attrs["numbers"])
        known = law.gauge_dimension
        open_directions = [n for n, x in known.items() if np.isfinite(x) and x > 0]
        is_open = bool(law.refusal) and any(np.isfinite(x) for x in known.values())
        terms = [] if law.refusal else list(_terms(law, observations))
        refusals, reservations = ([], [law.refusal]) if is_open else judged(misses)
        return Findings(
            terms=terms,
            refusals=[law.refusal] if law.refusal and not is_open else refusals,
            reservations=reservations,
            about=str(law),
            scale="The equation is dx/dt = (J - R) ∇H(x) + B u, y = Bᵀ∇H(x).",
            undecided=[
                f"{OPEN_IF[name]} determine J, R, B and H up to {known[name]:g} free "
                f"parameter{'s' * (known[name] != 1)}"
                for name in open_directions
            ],
            predicted=predicted(misses),
        )


def _terms(law: StructureModel, observations: xr.Dataset):
    """Rows of the entries that are not zero."""
    data = law.dataset
    unit = _units(observations.attrs)
    for letter, name in PARTS.items():
        values, errors = (
            data[f"{name}_{what}"].values[0] for what in ("estimate", "std")
        )
        for i, j in np.argwhere(np.nan_to_num(values) != 0).tolist():
            if letter == "B" or j >= i:
                label, value = f"{letter}_{i + 1}{j + 1}", float(values[i, j])
                yield label, letter, value, float(errors[i, j]), unit(letter, i, j)
    weights, errors = (
        data[f"coefficient_{what}"].values[0] for what in ("estimate", "std")
    )
    for k in np.flatnonzero(np.nan_to_num(weights)):
        term = str(data["term"].values[k])
        powers = sp.Poly(parse(term, law.states), *symbols(law.states)).monoms()[0]
        value, error = float(weights[k]), float(errors[k])
        yield term, "H", value, error, unit("H", powers)


def _units(about: Mapping):
    """Function from a part of a model, and the place of an entry, to its unit.

    ẋ = (J − R) ∇H + B u, with H in the unit of the product of an input, its output and
    the time; J, a joule, without outputs. Of states without a unit nothing is known.
    """
    known = registry()
    states, inputs, outputs = (
        [known(text).units for text in np.atleast_1d(about.get(f"units_of_{name}", []))]
        for name in ("states", "inputs", "outputs")
    )
    energy = inputs[0] * outputs[0] * known.s if outputs else known.J
    energy = known.J if energy.is_compatible_with(known.J) else energy

    def of(part: str, i, j: int = 0) -> str:
        if all(unit.dimensionless for unit in states):
            return ""
        if part == "H":
            result = energy
            for unit, power in zip(states, i, strict=True):
                result = result / unit**power
        elif part == "B":
            result = states[i] / known.s / inputs[j]
        else:
            result = states[i] * states[j] / energy / known.s
        return shortest(result)

    return of


def _runs(law: StructureModel, u: np.ndarray, step: float, outputs: bool):
    """Runs (run, time, channel) of a motion under its inputs u (time, port), of starts.

    The channels are the states, and with `outputs` y = Bᵀ∇H.
    """
    from scipy.interpolate import make_interp_spline  # slow to import

    times = len(u)
    half = make_interp_spline(np.arange(times), u, k=5)(np.arange(2 * times - 1) / 2)

    def run(starts: np.ndarray, count: int) -> np.ndarray:
        path = np.empty((len(starts), count, starts.shape[1]))
        path[:, 0] = starts
        with np.errstate(all="ignore"):
            for k in range(count - 1):
                pushed = (half[2 * k + i][None] for i in range(3))
                path[:, k + 1] = runge_kutta_step(law.rates, path[:, k], step, *pushed)
            if not outputs:
                return path
            y = law.dae.efforts(path.reshape(-1, path.shape[2])) @ law.port
        return np.concatenate([path, y.reshape(len(starts), count, -1)], axis=2)

    return run


KINDS = {"ports": Ports()}
