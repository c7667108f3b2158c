"""What is served: an address of the registry, and which version it means at a moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dial2vec.errors import ModelError
from dial2vec.registry.store import aliases_of, one_sentence, open_store, store_uri
from dial2vec.registry.tracking import local_model


@dataclass(frozen=True)
class Address:
    """A registered model: of an alias, whose version may change, or of one version.

    :param alias: an empty string for a fixed version.
    :param version: an empty string with an alias.
    """

    model: str
    alias: str
    version: str

    @classmethod
    def of(cls, text: str, *, root: Path) -> Address:
        """Read "models:/dial2vec-calls@champion" or "models:/dial2vec-calls/3".

        :raises ModelError: when nothing is there, naming what is.
        """
        local_model(text, root=root)
        model, _, alias = text.removeprefix("models:/").partition("@")
        model, _, version = model.partition("/")
        return cls(model, alias, version)

    def current(self, root: Path) -> str:
        """Return the version that is meant at this moment.

        :raises ModelError: when the store cannot be used, or the alias is gone.
        """
        if not self.alias:
            return self.version
        client = open_store(root)
        with one_sentence(store_uri(root)):
            found = aliases_of(client, self.model)
        if self.alias not in found:
            raise ModelError(f"{self.model} has no alias '{self.alias}' any more. Set it again.")
        return found[self.alias]
