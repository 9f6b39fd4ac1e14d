"""In the place of a filter: innovations y − X c of a normal law, and noise alone."""

import numpy as np

ROWS, TYPICAL = 120, np.array([2.0, 0.5, 3.0, 4.0])


class Regression:
    """y = X c + σ e, and after it samples z of nothing but noise."""

    linear = np.ones(4, dtype=bool)
    steps, width, dt, moment = 1, 1.0, 0.1, 0.2

    def __init__(self, records=2, noise=0.3):
        rng = np.random.default_rng(4)
        self.records, self.runs, self.requests = range(records), 0, []
        self.X = rng.normal(size=(records, ROWS, 4)) + 0.3
        self.y = self.X[..., :3] @ [1.0, -2.0, 0.4]
        self.y += noise * rng.normal(size=self.y.shape)
        self.z = 0.7 * rng.normal(size=self.y.shape)
        self.samples = 2 * records * ROWS

    def forces_of_motion(self):
        return 6.0, np.array([3.0, 12.0, 2.0, 1.5])

    def places(self, structure):
        n = len(structure.columns)
        return slice(0, n), slice(n, n + 1), slice(n + 1, n + 2)

    def innovations(self, structure, theta, order=2):
        columns, n = list(structure.columns), len(structure.columns)
        self.runs += 1
        self.requests.append((structure, theta, order))

        def of_record(number):
            if theta[0] > 50:
                return None
            e = self.y[number] - self.X[number][:, columns] @ theta[:n]
            V = np.repeat([theta[n] ** 2, np.exp(2 * theta[n + 1])], ROWS)
            return np.append(e, self.z[number])[:, None], V[:, None]

        return of_record
