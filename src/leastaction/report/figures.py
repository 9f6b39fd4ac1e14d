"""The figures that the publish stage can draw, by name."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.figure import Figure

from leastaction.densities.figures.bins_study import bins_study
from leastaction.densities.figures.density import density
from leastaction.densities.figures.level_set import level_set
from leastaction.densities.figures.marginals import marginals
from leastaction.densities.figures.objective import (
    density_surface,
    objective_dependent,
    objective_independent,
)
from leastaction.densities.figures.samples_study import samples_study
from leastaction.densities.figures.stationary_parameters import (
    stationary_parameters,
)
from leastaction.ensembles.figures.coefficients import coefficients
from leastaction.ensembles.figures.hamiltonian import hamiltonian
from leastaction.ensembles.figures.response import response
from leastaction.ensembles.figures.sensor_study import sensor_study
from leastaction.ensembles.figures.volatility_study import volatility_study
from leastaction.fields.figures.scheme_study import scheme_study
from leastaction.fields.figures.space_time import space_time
from leastaction.ports.figures.coverage_study import coverage_study
from leastaction.ports.figures.effort_reconstruction import (
    effort_extrapolation,
    effort_reconstruction,
)
from leastaction.ports.figures.learning_curves import (
    derivative_influence,
    effort_errors,
    learning_curves,
)
from leastaction.ports.figures.port_motion import port_energy, port_motion
from leastaction.report.panel import Panel
from leastaction.report.style import style
from leastaction.snapshots.figures.alignment import alignment
from leastaction.snapshots.figures.escape_energy import escape_energy
from leastaction.snapshots.figures.escape_paths import escape_paths
from leastaction.snapshots.figures.level_sets import (
    governing_hamiltonian,
    identified_hamiltonian,
)
from leastaction.snapshots.figures.modified_energy import modified_energy
from leastaction.snapshots.figures.saddle_channels import saddle_channels
from leastaction.snapshots.figures.shadow_energy import shadow_energy
from leastaction.snapshots.figures.shadow_mechanism_study import (
    shadow_mechanism_study,
)
from leastaction.snapshots.figures.shadow_noise_study import shadow_noise_study
from leastaction.snapshots.figures.shadow_path import shadow_path
from leastaction.snapshots.figures.snapshots import snapshots
from leastaction.snapshots.figures.survival_study import survival_study
from leastaction.trajectories.figures.channel_study import channel_study
from leastaction.trajectories.figures.damping_study import damping_study
from leastaction.trajectories.figures.energy import energy
from leastaction.trajectories.figures.noise_coefficients import noise_coefficients
from leastaction.trajectories.figures.noise_limits import noise_limits
from leastaction.trajectories.figures.success_study import success_study
from leastaction.trajectories.figures.trajectories import trajectories

FIGURES: Mapping[str, Callable[[Sequence[Panel], Mapping], Figure]] = {
    "coefficients": coefficients,
    "response": response,
    "space_time": space_time,
    "hamiltonian": hamiltonian,
    "noise_coefficients": noise_coefficients,
    "trajectories": trajectories,
    "energy": energy,
    "noise_limits": noise_limits,
    "alignment": alignment,
    "shadow_path": shadow_path,
    "shadow_energy": shadow_energy,
    "snapshots": snapshots,
    "modified_energy": modified_energy,
    "governing_hamiltonian": governing_hamiltonian,
    "identified_hamiltonian": identified_hamiltonian,
    "escape_paths": escape_paths,
    "escape_energy": escape_energy,
    "saddle_channels": saddle_channels,
    "volatility_study": volatility_study,
    "scheme_study": scheme_study,
    "sensor_study": sensor_study,
    "success_study": success_study,
    "channel_study": channel_study,
    "damping_study": damping_study,
    "survival_study": survival_study,
    "shadow_noise_study": shadow_noise_study,
    "shadow_mechanism_study": shadow_mechanism_study,
    "stationary_parameters": stationary_parameters,
    "density": density,
    "marginals": marginals,
    "density_surface": density_surface,
    "objective_independent": objective_independent,
    "objective_dependent": objective_dependent,
    "level_set": level_set,
    "coverage_study": coverage_study,
    "learning_curves": learning_curves,
    "effort_reconstruction": effort_reconstruction,
    "effort_extrapolation": effort_extrapolation,
    "derivative_influence": derivative_influence,
    "effort_errors": effort_errors,
    "port_motion": port_motion,
    "port_energy": port_energy,
    "bins_study": bins_study,
    "samples_study": samples_study,
}


def draw(name: str, panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Figure `name` of the panels, in the style of `settings`.

    Parameters
    ----------
    name
        A key of :data:`FIGURES`.
    panels
        One example, or several for a composite.
    settings
        See :func:`leastaction.report.style.complete`.

    Raises
    ------
    ValueError
        If no such figure exists, there is nothing to draw, a setting is unknown, or a
        panel lacks the datasets of the figure.
    """
    if name not in FIGURES:
        raise ValueError(f"unknown figure {name!r}; known: {', '.join(FIGURES)}")
    if not panels:
        raise ValueError(f"figure {name!r}: no panels; give at least one example")
    with style(settings) as complete:
        return FIGURES[name](panels, complete)
