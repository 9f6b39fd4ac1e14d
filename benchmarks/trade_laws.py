"""A driven and a free motion, and their free runs by laws and black boxes."""

import contextlib
import io
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from trade_frames import rng

import leastaction as la

DUFFING = {"mass": 1.2, "damping": 0.4, "stiffness": 30.0, "cubic": 60.0}
STEP, START, GRAVITY = 0.01, 20, 9.81


def duffing(draw: int, seconds: float) -> tuple[np.ndarray, ...]:
    """Times, force, position with noise, and without."""
    random = rng(4, draw)
    frequencies, phases = random.uniform(0.2, 2.0, 6), random.uniform(0, 2 * np.pi, 6)
    time = np.arange(0, seconds, STEP)

    def force(t):
        return 1.2 * np.sin(2 * np.pi * np.multiply.outer(t, frequencies) + phases).sum(
            -1
        )

    p = DUFFING

    def rate(t, s):
        pull = p["damping"] * s[1] + p["stiffness"] * s[0] + p["cubic"] * s[0] ** 3
        return [s[1], (force(t) - pull) / p["mass"]]

    how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-11, "max_step": 0.05}
    x = solve_ivp(rate, (0, seconds), [0.0, 0.0], **how).y[0]
    return time, force(time), x + 1e-3 * random.standard_normal(len(x)), x


def driven(learned: Callable) -> list[tuple[float, str]]:
    """Rms error of the free run, over that of the motion, and coverage, by draw."""
    result = []
    for draw in range(3):
        time, force, x, _ = duffing(2 * draw, 60.0)
        late, push, noisy, truth = duffing(2 * draw + 1, 30.0)
        run, words = learned(time, force, x, late, push, noisy)
        miss = (run - truth)[START:]
        result.append((float(np.sqrt(np.mean(miss**2)) / truth.std()), words))
    return result


def covered(law, truth: dict) -> str:
    """Terms whose intervals hold the truth, by function and term; scale of a free law.

    A term that the law lacks counts as one whose interval does not.
    """
    rows = {(row.of, row.term): row for row in law.terms.itertuples()}
    fixed = [k for k, row in rows.items() if not row.std > 0 and k in truth]
    scale = rows[fixed[0]].value / truth[fixed[0]] if fixed else 1.0
    held = [
        k in rows and rows[k].low <= scale * value <= rows[k].high
        for k, value in truth.items()
        if k not in fixed
    ]
    false = len(set(rows) - set(truth))
    return f"inside {sum(held)} of {len(held)}, {false} false terms"


def driven_by_ours(time, force, x, late, push, noisy):
    """By the law, from rest."""
    law = la.learn(
        {"x": [x], "f": [force]}, time=[time], inputs={"x": "f [N]"}, progress=False
    )

    def push_at(t: float) -> list[float]:
        return [np.interp(t, late, push)]

    path = law.predict([0.0], [0.0], time=late, force=push_at)
    p = DUFFING
    truth = {
        ("L", "xdot**2"): p["mass"] / 2,
        ("L", "x**2"): -p["stiffness"] / 2,
        ("L", "x**4"): -p["cubic"] / 4,
        ("D", "xdot**2"): p["damping"] / 2,
    }
    return path.q.values[:, 0], covered(law, truth)


def driven_by_frols(time, force, x, late, push, noisy):
    """Polynomial NARX of degree 3 and lag 3, 12 terms."""
    from sysidentpy.basis_function import Polynomial
    from sysidentpy.model_structure_selection import FROLS

    model = FROLS(
        order_selection=False,
        n_terms=12,
        ylag=3,
        xlag=3,
        basis_function=Polynomial(degree=3),
    )
    model.fit(X=force[:, None], y=x[:, None])
    run = np.ravel(model.predict(X=push[:, None], y=noisy[:3, None]))[: len(noisy)]
    return run, "no intervals"


def driven_by_jax(time, force, x, late, push, noisy):
    """Three states and a net of 8 neurons; its smoother finds the first state."""
    import jax
    from jax import numpy as jnp
    from jax_sysid.models import Model

    jax.config.update("jax_enable_x64", True)
    states, neurons = 3, 8

    def next_state(x, u, params):
        A, B, inner, bias, outer = params[:5]
        hidden = jnp.tanh(inner @ jnp.concatenate([x, u]) + bias)
        return A @ x + B @ u + outer @ hidden

    def output(x, u, params):
        return params[5] @ x

    random = rng(5)
    shapes = [
        (states, 1),
        (neurons, states + 1),
        (neurons,),
        (states, neurons),
        (1, states),
    ]
    first = [0.3 * random.standard_normal(shape) for shape in shapes]
    model = Model(states, 1, 1, state_fcn=next_state, output_fcn=output)
    model.init(params=[0.9 * np.eye(states), *first])
    model.loss(rho_x0=1e-4, rho_th=1e-8)
    model.optimization(adam_epochs=200, lbfgs_epochs=800)
    scale, push_scale = x.std(), force.std()
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(x[:, None] / scale, force[:, None] / push_scale)
        start = model.learn_x0(push[:200, None] / push_scale, noisy[:200, None] / scale)
        run, _ = model.predict(start, push[:, None] / push_scale)
    return scale * np.ravel(run), "no intervals"


def pendulum(draw: int, seconds: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    """Times, and angles with their rates (time, 4), of two unit masses and lengths."""
    time = np.arange(0, seconds, STEP)
    how = {"t_eval": time, "rtol": 1e-10, "atol": 1e-12}
    start = [*rng(6, draw).uniform(-1.2, 1.2, 2), 0.0, 0.0]
    return time, solve_ivp(_swing, (0, seconds), start, **how).y.T


def _swing(_, s) -> list[float]:
    (a, b, u, v), g = s, GRAVITY
    cos, sin = np.cos(a - b), np.sin(a - b)
    forces = [-sin * v**2 - 2 * g * np.sin(a), sin * u**2 - g * np.sin(b)]
    return [u, v, *np.linalg.solve([[2, cos], [cos, 1]], forces)]


def swings() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Times and angles of four swings."""
    runs = [pendulum(draw) for draw in range(4)]
    noise = [
        1e-3 * rng(7, k).standard_normal((len(t), 2)) for k, (t, _) in enumerate(runs)
    ]
    return [t for t, _ in runs], [
        s[:, :2] + e for (_, s), e in zip(runs, noise, strict=True)
    ]


def free_run(learned: tuple[Callable, str]) -> str:
    """Rms error of the angles of the first 2 s of a fifth swing, and coverage."""
    path, words = learned
    time, truth = pendulum(4, 2.0)
    with np.errstate(all="ignore"):
        run = path(time, truth[0])
    miss = np.sqrt(np.mean((run - truth[:, :2]) ** 2)) if run is not None else np.inf
    size = 1e3 * truth[:, :2].std()
    return f"free run {1e3 * miss:.3g} mrad of {size:.0f}; {words}"


def free_by_ours():
    """The law of four swings."""
    times, angles = swings()
    data = {"a": [q[:, 0] for q in angles], "b": [q[:, 1] for q in angles]}
    units = {"a": "rad", "b": "rad"}
    law = la.learn(data, time=times, coordinates=units, progress=False)
    truth = {
        ("L", "adot**2"): 1.0,
        ("L", "bdot**2"): 0.5,
        ("L", "adot*bdot*cos(a - b)"): 1.0,
        ("L", "cos(a)"): 2 * GRAVITY,
        ("L", "cos(b)"): GRAVITY,
    }
    words = covered(law, truth)
    return lambda t, s: law.predict(s[:2], s[2:], time=t).q.values, words


def free_by_pysindy():
    """Smoothed angles; accelerations over products of the true shapes of terms."""
    import pysindy as ps
    from scipy.signal import savgol_filter

    times, angles = swings()
    q, v, w = (
        np.concatenate(
            [
                savgol_filter(x, 41, 4, deriv=d, delta=STEP, axis=0)[20:-20]
                for x in angles
            ]
        )
        for d in (0, 1, 2)
    )

    def columns(q, v):
        (a, b), (u, v) = q.T, v.T
        d = a - b
        bottom = 2 - np.cos(d) ** 2
        tops = [np.sin(a), np.sin(b), np.sin(d), np.cos(d)]
        tops += [u**2 * np.sin(d), v**2 * np.sin(d)]
        tops += [u**2 * np.sin(2 * d), v**2 * np.sin(2 * d)]
        tops += [np.sin(a - 2 * b), np.sin(2 * a - b)]
        return np.stack([*tops, *(x / bottom for x in tops)], axis=1)

    optimizer = ps.STLSQ(threshold=0.2, alpha=1e-6)
    fitted = optimizer.fit(columns(q, v), w).coef_

    def path(time, start):
        def rate(_, s):
            return [*s[2:], *(columns(s[None, :2], s[None, 2:]) @ fitted.T)[0]]

        run = solve_ivp(rate, time[[0, -1]], start, t_eval=time, rtol=1e-8)
        return run.y[:2].T if run.success else None

    return path, "no intervals"


def percent(values: list[tuple[float, str]]) -> str:
    """Free runs of all draws, and coverage."""
    words = dict.fromkeys(words for _, words in values)
    runs = ", ".join(f"{100 * x:.2g}" for x, _ in values)
    return f"free runs {runs} %; {'; '.join(words)}"
