"""The five papers: published recipes, rivals, their examples, figures and scorecard.

To import this package adds its methods to those of :mod:`leastaction`, which never
imports it by itself.
"""

from leastaction.core import families

# Package that reproduces a paper with the methods of a family of the tool.
PAPERS = {
    "ensembles": "leastaction_papers.stochastic_lagrangian",
    "fields": "leastaction_papers.stochastic_lagrangian",
    "trajectories": "leastaction_papers.xl_sindy",
    "densities": "leastaction_papers.fokker_planck",
    "snapshots": "leastaction_papers.shadow_integration",
    "ports": "leastaction_papers.port_hamiltonian",
}
families.add(dict.fromkeys(PAPERS.values()))
