"""Questions of one's own: each dialogue goes to the nearest of a few descriptions, or to none."""

from dial2vec.collection.facets.facets import Facet, FacetValue, facet

__all__ = ["Facet", "FacetValue", "facet"]
