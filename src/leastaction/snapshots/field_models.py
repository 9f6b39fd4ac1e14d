"""A learned field: a discrete Lagrangian density and its Euler–Lagrange equation."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval
from leastaction.core.periodic_line import projection_on_waves
from leastaction.snapshots.discrete_density import (
    ITERATIONS,
    DiscreteDensity,
    StencilBasis,
)
from leastaction.snapshots.field_evidence import LONGEST

# The last step of Newton's method over the largest value.
TOLERANCE = 1e-12
# Largest value over that of the first snapshots, beyond which a motion has failed.
ESCAPED = 1e3
# What a model knows of its fit, as the file names it.
DIAGNOSTICS = (
    *("noise", "excess", "distance", "misfit"),
    *("damping", "damping_std", "speed", "speed_std"),
)
FORCE = ("force_place", "force", "force_std")


@dataclass(frozen=True, eq=False, repr=False)
class LearnedField:
    """Discrete Lagrangian density of a field on a periodic line.

    Examples
    --------
    >>> import leastaction as la
    >>> string = la.system(
    ...     {
    ...         "field": {"name": "u", "unit": "m"},
    ...         "domain": {"length": 6.0, "nodes": 12}
    ...         | {"left": "periodic", "right": "periodic"},
    ...         "parameters": {},
    ...         "lagrangian": "u_t**2/2 - 2*u_x**2 - u**2/2",
    ...     }
    ... )
    >>> data = la.simulate(
    ...     string,
    ...     method="spectral",
    ...     duration=2.0,
    ...     time_step=0.2,
    ...     trajectories=3,
    ...     initial_state={"u": "a*sin(2*pi*x/length)"}
    ...     | {"u_t": "b*cos(4*pi*x/length) + c"}
    ...     | {"random": {name: {"normal": [0, 1]} for name in "abc"}},
    ...     noise={"channels": ["q"]},
    ... )
    >>> recipe = la.recipes.snapshots.recommended("field_snapshots", degree=2)
    >>> model = recipe.fit(data)
    >>> round(model.speed_squared(), 3), model.stable
    (4.0, True)
    >>> model.slope([0.5]).round(3)
    array([0.5])
    >>> first = data["q"].values[0, :, :2]
    >>> model.rollout(first[:, 0], first[:, 1], steps=50).shape
    (3, 51, 12)
    """

    density: DiscreteDensity  # L_d
    nodes: int
    field: str  # name of u
    noise: float  # standard deviation of the noise of the snapshots; 0 if none was seen
    waves: int  # number of the shortest wave that the snapshots hold above their noise
    excess: float  # of the largest cosine of a wave over its bound, as fitted
    # Posterior standard deviations from the fit to this density, 0 where the fit was
    # stable; infinite if none is stable.
    distance: float
    # Numbers of the two longest waves that the snapshots hold.
    longest: tuple[int, int] = (0, 1)
    damping: float = 0.0  # γ as the snapshots have it, 1/s, and its standard error
    damping_std: float = 0.0
    speed: float = np.nan  # c² of waves about u = 0 with its noise corrected, m²/s²
    speed_std: float = np.nan
    misfit: float = 0.0  # variance of what the stencil cannot represent, over the noise
    # u, V'(u) over the mass density, and its standard error, (3, place)
    force: np.ndarray = field(default_factory=lambda: np.empty((3, 0)))

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "LearnedField":
        """Model of one replicate and case, contract ``learned_field``."""
        value = {
            name: float(array.values[0])
            for name, array in dataset.data_vars.items()
            if array.ndim == 1
        }
        about = dataset.attrs
        nodes = int(about["domain_nodes"])
        basis = StencilBasis(
            list(about["stencils"])[int(value["stencil"])],
            int(value["width"]),
            int(value["degree"]),
            value["length_scale"],
            float(about["time_step"]),
            float(about["domain_length"]) / nodes,
            bool(value["even"]),
            value["decay"],
            dataset["coordinate_scale"].values[0],
        )
        density = DiscreteDensity(basis, dataset["coefficient"].values[0, : basis.size])
        numbers = {name: value[name] for name in DIAGNOSTICS}
        numbers["waves"] = int(value["waves"])
        if FORCE[0] in dataset:
            numbers["force"] = np.array([dataset[name].values[0] for name in FORCE])
        numbers["longest"] = tuple(int(value[name]) for name in LONGEST)
        return cls(density, nodes, str(about["field"]), **numbers)

    @property
    def stable(self) -> bool:
        """Whether no wave grows faster than it should (von Neumann)."""
        return bool(np.isfinite(self.distance))

    def rollout(self, first, second, steps: int, velocity=None) -> np.ndarray:
        """Motions from two snapshots each (motion, node): (motion, steps + 1, node).

        Newton's method for the whole layer u^{n+1}; `velocity` is not needed. Only the
        first `waves` move: fields of these alone have the same action, so that the
        motion stays variational (a Galerkin method). Shorter waves the data do not
        know; at large amplitudes a coarse time step feeds them until a motion fails.
        NaN where a motion has failed; a ValueError if the density is not stable.
        """
        if not self.stable:
            raise ValueError(
                "this density has no stable rollout: |cos(omega dt)| is beyond its "
                f"bound by {self.excess:.2g}, and no stable one is compatible with the "
                "data; record with a smaller time step, or with shorter waves"
            )
        path = np.full((len(first), steps + 1, self.nodes), np.nan)
        path[:, 0], path[:, 1] = first @ self._held, second @ self._held
        largest = ESCAPED * np.abs(path[:, :2]).max()
        active = np.arange(len(path))
        with np.errstate(all="ignore"):
            for n in range(1, steps):
                result = self._step(path[active, n - 1], path[active, n])
                good = np.abs(result).max(axis=1) < largest
                active = active[good]
                if not active.size:
                    break
                path[active, n + 1] = result[good]
        return path

    @cached_property
    def _held(self) -> np.ndarray:
        """Projection on the waves that the snapshots hold."""
        return projection_on_waves(self.nodes, self.waves)

    def _step(self, before: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Layers after two layers (motion, node); NaN where there is none."""
        push, _ = self.density.derivatives(np.stack([before, now], axis=1), 1)
        after, held = 2 * now - before, self._held
        others = np.eye(self.nodes) - held
        for _ in range(ITERATIONS):
            layers = np.stack([now, after], axis=1)
            slope, matrix = self.density.derivatives(layers, 0, bend=True)
            matrix = held @ matrix @ held + others
            error = (push + slope) @ held
            try:
                step = np.linalg.solve(matrix, error[..., None])[..., 0]
            except np.linalg.LinAlgError:
                return np.full_like(now, np.nan)
            after = after - step
            if np.abs(step).max() < TOLERANCE * np.abs(now).max():
                break
        return after

    def squared_frequency(self, theta, base: float = 0.0) -> np.ndarray:
        """ω² of waves; see :meth:`DiscreteDensity.squared_frequency`."""
        return self.density.squared_frequency(theta, base)

    def speed_squared(self, base: float = 0.0) -> float:
        """c² = Δω²/Δk² of the two longest waves that the snapshots hold, m²/s².

        The uniform field is one of them if it moves: its frequency is not known else.
        """
        theta = 2 * np.pi / self.nodes * np.array(self.longest)
        return self.density.speed_squared(theta, base)

    def slope(self, u: np.ndarray) -> np.ndarray:
        """V'(u) over the mass density; see :meth:`DiscreteDensity.slope`."""
        return self.density.slope(u)

    def __str__(self) -> str:
        basis = self.density.basis
        if self.distance == 0:
            stability = "Stable: no wave grows beyond a uniform field (von Neumann)"
        elif self.stable:
            stability = (
                f"Stabilised: as fitted |cos(omega dt)| exceeds its bound by "
                f"{self.excess:.2g}; this density is {self.distance:.2g} standard "
                "deviations away, and no wave grows"
            )
        else:
            stability = "Refused: no stable density is compatible with the data"
        return (
            f"Discrete Lagrangian density of {self.field} on {self.nodes} nodes\n"
            f"  {basis.size} basis functions: stencil {basis.stencil}, width "
            f"{basis.width}, degree {basis.degree}{', even' if basis.even else ''}\n"
            f"  dt = {basis.time_step:g} s, dx = {basis.spacing:g} m\n"
            f"  noise {self.noise:.3g} (SI); {self.waves} wavenumbers above it\n"
            f"  c^2 = {_interval(self.speed, self.speed_std)} m^2/s^2 (95 %)\n"
            f"{self._energy}\n{stability}"
        )

    @property
    def _energy(self) -> str:
        """What becomes of the energy, in words."""
        rate = f"{_interval(self.damping, self.damping_std)} 1/s (95 %)"
        decay, u = self.density.basis.decay, self.field
        if decay == 1:
            return f"Energy is conserved: gamma = {rate} is compatible with zero"
        how = "lost" if decay < 1 else "gained"
        return f"Energy is {how}: {u}_tt + gamma {u}_t with gamma = {rate}"

    __repr__ = __str__


def _interval(value: float, std: float) -> str:
    return interval(value, NORMAL_QUANTILE * std if np.isfinite(std) else 0.0)
