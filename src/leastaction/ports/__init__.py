"""Port-Hamiltonian equations."""

# Class of the systems whose section `system` has this key.
SYSTEM = {"states": ".system:PortHamiltonianSystem"}
