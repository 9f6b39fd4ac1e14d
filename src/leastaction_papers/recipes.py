"""Recipes as the papers publish them: ``recipes.<paper>.published()``.

Examples
--------
>>> from leastaction_papers import recipes
>>> recipe = recipes.xl_sindy.published(threshold=0.05)
>>> recipe.identify.name(), [stage.threshold for stage in recipe.identify.stages]
('proximal_gradient', [0.05, 0.05, 0.05, 0.05])
>>> recipes.xl_sindy.kinds
('motions', 'SINDy-PI', 'Lagrangian-SINDy')
>>> recipe = recipes.stochastic_lagrangian.published(
...     threshold=10, volatility={"threshold": 0.1}
... )
>>> recipe.identify.name()
'stlsq'
"""

from functools import cache
from importlib import import_module
from typing import Any

from leastaction.core.families import unknown
from leastaction.core.recipe import Recipe
from leastaction.recipes import of_kind
from leastaction_papers import PAPERS

# Packages with recipes by the names of papers.
_PACKAGES = {name.partition(".")[2]: name for name in PAPERS.values()}


class PaperRecipes:
    """Published recipes of one paper, and those of its rivals."""

    def __init__(self, package: str):
        declared = import_module(f"{package}.recipes")
        self._recipes, self.__doc__ = declared.PUBLISHED, declared.__doc__

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of data, or rivals, that have a recipe; the first is the default."""
        return tuple(self._recipes)

    def published(self, kind: str | None = None, **settings: Any) -> Recipe:
        """The recipe of the paper, warts included; see :func:`leastaction.recipes`."""
        return of_kind(self._recipes, kind, settings)


@cache
def _paper(name: str) -> PaperRecipes:
    return PaperRecipes(_PACKAGES[name])


def __getattr__(name: str) -> PaperRecipes:
    if name.startswith("_") or name not in _PACKAGES:
        raise AttributeError(unknown("paper", name, _PACKAGES), name=name)
    return _paper(name)


def __dir__() -> list[str]:
    return [*_PACKAGES, "PaperRecipes"]
