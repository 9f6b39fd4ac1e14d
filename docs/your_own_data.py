"""The law of config/my_rig.yaml in Python; your_own_data.md makes it first."""

import numpy as np

from leastaction import load

law = load("results/recordings/pendulum/law.nc")  # or what law.save has written
print(law.verdict, law.reservations, law.score())
print(law.terms)
print(law.physical[["quantity", "value", "std", "unit"]])
print(law.equations[0])
print(law.latex(theta=r"\theta"))

# SymPy: lagrangian, dissipation, hamiltonian, equations_of_motion, mass_matrix
system = law.system
print(system.evaluated(system.hamiltonian))

time = np.linspace(0.0, 2.0, 5)
path = law.predict([np.pi + 1.0], [0.0], time)
print(path.q.values[:, 0].round(4))

acceleration = law.function()  # plain NumPy, no file, no compiler
print(acceleration([np.pi + 1.0], [0.0]))
