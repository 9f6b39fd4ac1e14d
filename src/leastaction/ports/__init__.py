"""Port-Hamiltonian equations."""

# Class of the systems whose section `system` has this key.
SYSTEM = {"states": ".system:PortHamiltonianSystem"}
# Class of the efforts of a model with this contract.
EFFORTS = {"effort_gradient": ".hamiltonian_gradient:GradientEfforts"}
