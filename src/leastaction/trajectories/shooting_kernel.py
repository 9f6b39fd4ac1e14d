"""Loop that integrates segments of motion with their sensitivities, as a template.

The classical Runge–Kutta method advances the state, and the normal equations of the
misfit to measured positions are summed on the way: nothing is stored per sample. The
derivatives of the state by the start and by the active coefficients obey a linear
equation and take longer steps: a Gauss–Newton step needs them to a few digits only.
"""

KERNEL = """
{constants}
FARTHEST = 1e8
GROUP = 4


@njit(cache=True, nogil=True)
def evaluate(x, left, right, target, pointer, monomial, value, m, out):
    # Entries of the table at x; no tuple or view is made in a call, each costs 20 ns.
    m[0] = 1.0
    for a in range(2 * N):
        m[1 + a] = x[a]
    {state}
    {functions}
    for i in range(BASE, left.size):
        m[i] = m[left[i]] * m[right[i]]
    for e in range(target.size):
        total = 0.0
        for i in range(pointer[e], pointer[e + 1]):
            total += value[i] * m[monomial[i]]
        out[target[e]] = total


@njit(cache=True, nogil=True)
def accelerate(x, force, out, inverse, rate):
    # M qddot = Q - C by Gauss-Jordan elimination with pivoting; rate = (qdot, qddot).
    for a in range(N):
        for b in range(N):
            inverse[0, a, b] = out[N * a + b]
            inverse[1, a, b] = 1.0 if a == b else 0.0
    for a in range(N):
        pivot = a
        for b in range(a + 1, N):
            if abs(inverse[0, b, a]) > abs(inverse[0, pivot, a]):
                pivot = b
        for b in range(N):
            for i in range(2):
                if pivot != a:
                    swap = inverse[i, a, b]
                    inverse[i, a, b] = inverse[i, pivot, b]
                    inverse[i, pivot, b] = swap
        pivot_value = inverse[0, a, a]
        factor = 1.0 / pivot_value if pivot_value != 0.0 else np.inf
        for b in range(N):
            for i in range(2):
                inverse[i, a, b] *= factor
        for d in range(N):
            factor = inverse[0, d, a]
            for b in range(N):
                for i in range(2):
                    if d != a:
                        inverse[i, d, b] -= factor * inverse[i, a, b]
    for a in range(N):
        rate[a] = x[N + a]
        rate[N + a] = 0.0
        for b in range(N):
            rate[N + a] -= inverse[1, a, b] * (out[MASS + b] - force[b])


@njit(cache=True, nogil=True)
def linearise(place, out, inverse, rate, by_x, by_c):
    # Derivatives of qddot by the state and by the active coefficients.
    for b in range(2 * N):
        for a in range(N):
            by_x[place, a, b] = 0.0
        for a in range(N):
            residual = out[PLAIN + 2 * N * (MASS + a) + b]
            for d in range(N):
                residual += out[PLAIN + 2 * N * (N * a + d) + b] * rate[N + d]
            for d in range(N):
                by_x[place, d, b] -= inverse[1, d, a] * residual
    for j in range(2 * N, by_c.shape[2]):
        own = PLAIN * (1 + j)
        for a in range(N):
            by_c[place, a, j] = 0.0
        for a in range(N):
            residual = out[own + MASS + a]
            for d in range(N):
                residual += out[own + N * a + d] * rate[N + d]
            for d in range(N):
                by_c[place, d, j] -= inverse[1, d, a] * residual


@njit(cache=True, nogil=True)
def shoot(
    plain, full, q, force, first, length, start, active, weight, dt, steps, sensitive,
    h, g, e2, path,
):
    # h = J'WJ, g = J'We, e2 = sum of squares by segment; inf where a motion escapes.
    # force has 2 steps rows per sample, at the begin and the middle of every step.
    # RK4 for the state x; RK4 for its derivatives s with GROUP times the step, whose
    # equation is linear: its matrices are needed at the middle and at the end.
    left, right, target, pointer, monomial, value = plain
    left_full, right_full, target_full, pointer_full, monomial_full, value_full = full
    width = 2 * N + active
    m, out = np.empty(full[0].size), np.zeros(PLAIN * (2 * N + 1 + active))
    inverse, rate = np.empty((2, N, N)), np.empty(2 * N)
    # At the begin, the middle and the end of a step of s.
    at, rates = np.empty((3, 2 * N)), np.empty((3, 2 * N))
    by_x, by_c = np.empty((3, N, 2 * N)), np.zeros((3, N, width))
    x, y, x_sum = np.empty(2 * N), np.empty(2 * N), np.empty(2 * N)
    s, row = np.empty((width, 2 * N)), np.empty((N, width))
    u, du, u_sum = np.empty(2 * N), np.empty(2 * N), np.empty(2 * N)
    nodes, weights = (0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
    step = dt / steps
    group = GROUP
    while steps % group:
        group //= 2
    long = group * step
    driven = force.shape[0] > 0
    pushed = np.zeros(N)
    for i in range(first.size):
        for a in range(2 * N):
            x[a] = start[i, a]
            for j in range(width):
                s[j, a] = 1.0 if a == j else 0.0
        for a in range(N):
            e2[i, a] = 0.0
        if sensitive:
            for j in range(width):
                g[i, j] = 0.0
                for d in range(width):
                    h[i, j, d] = 0.0
        for n in range(length[i]):
            for block in range(steps // group if n > 0 else 0):
                for turn in range(4 * group + (3 if sensitive else 0)):
                    part, k = turn % 4, turn - 4 * group
                    if k < 0:  # a stage of x
                        for a in range(2 * N):
                            if turn == 0:
                                at[0, a] = x[a]
                            if turn == 2 * group:
                                at[1, a] = x[a]
                            if part == 0:
                                x_sum[a] = x[a]
                                y[a] = x[a]
                            else:
                                y[a] = x[a] + step * nodes[part] * rate[a]
                    elif k == 0:  # the begin, which is the end of the step before
                        if n > 1 or block > 0:
                            for a in range(N):
                                rates[0, a] = rates[2, a]
                                rates[0, N + a] = rates[2, N + a]
                                for b in range(2 * N):
                                    by_x[0, a, b] = by_x[2, a, b]
                                for j in range(2 * N, width):
                                    by_c[0, a, j] = by_c[2, a, j]
                            continue
                        for a in range(2 * N):
                            y[a] = at[0, a]
                    elif k == 1:  # the end
                        for a in range(2 * N):
                            y[a] = x[a]
                    else:  # the middle
                        for a in range(2 * N):
                            y[a] = at[1, a]
                            if group == 1:
                                y[a] = 0.5 * (at[0, a] + x[a])
                                y[a] += 0.125 * long * (rates[0, a] - rates[2, a])
                    place = 0 if k <= 0 else 3 - k
                    if driven:
                        node = 2 * (steps * (first[i] + n - 1) + group * block)
                        if k < 0:
                            node += 2 * (turn // 4) + (part + 1) // 2
                        elif k > 0:
                            node += 2 * group // k
                        for a in range(N):
                            pushed[a] = force[node, a]
                    if k < 0:
                        evaluate(
                            y, left, right, target, pointer, monomial, value, m, out
                        )
                        accelerate(y, pushed, out, inverse, rate)
                    else:
                        evaluate(
                            y, left_full, right_full, target_full, pointer_full,
                            monomial_full, value_full, m, out,
                        )
                        accelerate(y, pushed, out, inverse, rate)
                        linearise(place, out, inverse, rate, by_x, by_c)
                    for a in range(2 * N):
                        if k >= 0:
                            rates[place, a] = rate[a]
                        else:
                            x_sum[a] += step * weights[part] * rate[a]
                            if part == 3:
                                x[a] = x_sum[a]
                for j in range(width if sensitive else 0):
                    for a in range(2 * N):
                        u_sum[a] = s[j, a]
                    for part in range(4):
                        place = (part + 1) // 2
                        for a in range(2 * N):
                            u[a] = s[j, a]
                            if part > 0:
                                u[a] += long * nodes[part] * du[a]
                        for a in range(N):
                            total = by_c[place, a, j]
                            for b in range(2 * N):
                                total += by_x[place, a, b] * u[b]
                            du[a] = u[N + a]
                            du[N + a] = total
                        for a in range(2 * N):
                            u_sum[a] += long * weights[part] * du[a]
                    for a in range(2 * N):
                        s[j, a] = u_sum[a]
            for a in range(path.shape[2]):
                path[i, n, a] = x[a]
            lost = False
            for a in range(q.shape[1]):
                error = q[first[i] + n, a] - x[a]
                if not abs(error) < FARTHEST:
                    lost = True
                    break
                e2[i, a] += error * error
                if sensitive:
                    for j in range(width):
                        row[a, j] = s[j, a]
                    for j in range(width):
                        factor = weight[i, a] * row[a, j]
                        g[i, j] += factor * error
                        for d in range(j, width):
                            h[i, j, d] += factor * row[a, d]
            if lost:
                for a in range(N):
                    e2[i, a] = np.inf
                break
        if sensitive:
            for j in range(width):
                for d in range(j):
                    h[i, j, d] = h[i, d, j]
"""
