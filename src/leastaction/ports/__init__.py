"""Port-Hamiltonian equations (paper 5)."""

# Class of the systems whose section `system` has this key.
SYSTEM = {"states": "ports.port_hamiltonian:PortHamiltonianSystem"}
