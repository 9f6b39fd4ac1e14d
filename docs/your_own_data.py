"""The law of config/my_rig.yaml in Python; your_own_data.md makes it first."""

import numpy as np

from leastaction import load

model = load("results/recordings/pendulum/recommended/model.nc")
print(model)  # L, D, equations of motion, H
print(model.latex(theta=r"\theta"))

# SymPy: lagrangian, dissipation, hamiltonian, equations_of_motion, mass_matrix
system = model.system
print(system.evaluated(system.hamiltonian))

time = np.linspace(0.0, 2.0, 5)
path = model.predict([np.pi + 1.0], [0.0], time)
print(path.q.values[:, 0].round(4))

acceleration = model.function()  # plain NumPy, no file, no compiler
print(acceleration([np.pi + 1.0], [0.0]))
