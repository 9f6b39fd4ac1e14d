"""Loop that integrates segments of motion with their sensitivities, as a template.

The classical Runge–Kutta method advances the state and its derivatives by the start and
by the active coefficients together, and the normal equations of the misfit to measured
positions are summed on the way: nothing is stored per sample.
"""

KERNEL = """
{constants}
FARTHEST = 1e8


@njit(cache=True, nogil=True)
def equations(x, left, right, target, pointer, monomial, value, sensitive, m, out,
              inverse, rate, by_x, by_c):
    # rate = (qdot, qddot); by_x, by_c = derivatives of qddot, if sensitive.
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
    # M qddot = -C by Gauss-Jordan elimination with pivoting.
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
            rate[N + a] -= inverse[1, a, b] * out[MASS + b]
    if not sensitive:
        return
    for b in range(2 * N):
        for a in range(N):
            by_x[a, b] = 0.0
        for a in range(N):
            residual = out[PLAIN + 2 * N * (MASS + a) + b]
            for d in range(N):
                residual += out[PLAIN + 2 * N * (N * a + d) + b] * rate[N + d]
            for d in range(N):
                by_x[d, b] -= inverse[1, d, a] * residual
    for j in range(by_c.shape[1]):
        own = PLAIN * (2 * N + 1 + j)
        for a in range(N):
            by_c[a, j] = 0.0
        for a in range(N):
            residual = out[own + MASS + a]
            for d in range(N):
                residual += out[own + N * a + d] * rate[N + d]
            for d in range(N):
                by_c[d, j] -= inverse[1, d, a] * residual


@njit(cache=True, nogil=True)
def shoot(
    left, right, target, pointer, monomial, value,
    q, first, length, start, active, weight, dt, steps, sensitive, h, g, e2, path
):
    # h = J'WJ, g = J'We, e2 = sum of squares by segment; inf where a motion escapes.
    # RK4 of the state and of its derivatives s by the start and by active coefficients.
    width = 2 * N + active
    m, out = np.empty(left.size), np.zeros(PLAIN * (2 * N + 1 + active))
    inverse = np.empty((2, N, N))
    by_x, by_c = np.empty((N, 2 * N)), np.empty((N, active))
    x, y = np.empty(2 * N), np.empty(2 * N)
    x_sum, rate = np.empty(2 * N), np.empty(2 * N)
    s, t = np.empty((2 * N, width)), np.empty((2 * N, width))
    s_sum, s_rate = np.empty((2 * N, width)), np.zeros((2 * N, width))
    nodes, weights = (0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
    step = dt / steps
    for i in range(first.size):
        for a in range(2 * N):
            x[a] = start[i, a]
            for j in range(width):
                s[a, j] = 1.0 if a == j else 0.0
        for a in range(N):
            e2[i, a] = 0.0
        if sensitive:
            for j in range(width):
                g[i, j] = 0.0
                for d in range(width):
                    h[i, j, d] = 0.0
        for n in range(length[i]):
            for stage in range(4 * steps if n > 0 else 0):
                part = stage % 4
                node, share = step * nodes[part], step * weights[part]
                for a in range(2 * N):
                    if part == 0:
                        y[a] = x[a]
                        x_sum[a] = x[a]
                    else:
                        y[a] = x[a] + node * rate[a]
                equations(
                    y, left, right, target, pointer, monomial, value, sensitive,
                    m, out, inverse, rate, by_x, by_c,
                )
                for a in range(2 * N):
                    x_sum[a] += share * rate[a]
                    if part == 3:
                        x[a] = x_sum[a]
                if sensitive:
                    for a in range(2 * N):
                        for j in range(width):
                            if part == 0:
                                t[a, j] = s[a, j]
                                s_sum[a, j] = s[a, j]
                            else:
                                t[a, j] = s[a, j] + node * s_rate[a, j]
                    for a in range(N):
                        for j in range(width):
                            s_rate[a, j] = t[N + a, j]
                        for j in range(2 * N):
                            s_rate[N + a, j] = 0.0
                        for j in range(active):
                            s_rate[N + a, 2 * N + j] = by_c[a, j]
                        for b in range(2 * N):
                            factor = by_x[a, b]
                            for j in range(width):
                                s_rate[N + a, j] += factor * t[b, j]
                    for a in range(2 * N):
                        for j in range(width):
                            s_sum[a, j] += share * s_rate[a, j]
                            if part == 3:
                                s[a, j] = s_sum[a, j]
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
                        factor = weight[a] * s[a, j]
                        g[i, j] += factor * error
                        for d in range(j, width):
                            h[i, j, d] += factor * s[a, d]
            if lost:
                for a in range(N):
                    e2[i, a] = np.inf
                break
        if sensitive:
            for j in range(width):
                for d in range(j):
                    h[i, j, d] = h[i, d, j]
"""
