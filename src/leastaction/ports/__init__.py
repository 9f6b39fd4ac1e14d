"""Port-Hamiltonian equations (paper 5)."""
