"""Address of the served model in the registry, and the version that it means at the moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dial2vec.errors import ModelError
from dial2vec.registry.store import aliases_of, one_sentence, open_store, store_uri
from dial2vec.registry.tracking import local_model


@dataclass(frozen=True)
class Address:
    """A registered model, by an alias, whose version may change, or by a fixed version.

    :param alias: Alias; "" for a fixed version.
    :param version: Fixed version; "" for an alias.
    """

    model: str
    alias: str
    version: str

    @classmethod
    def of(cls, text: str, *, root: Path) -> Address:
        """Read "models:/dial2vec-calls@champion" or "models:/dial2vec-calls/3".

        :raises ModelError: if the model does not exist.
        """
        local_model(text, root=root)
        model, _, alias = text.removeprefix("models:/").partition("@")
        model, _, version = model.partition("/")
        return cls(model, alias, version)

    def current(self, root: Path) -> str:
        """Return the version of the address at this moment.

        :raises ModelError: if the store cannot be used, or the alias is gone.
        """
        if not self.alias:
            return self.version
        client = open_store(root)
        with one_sentence(store_uri(root)):
            aliases = aliases_of(client, self.model)
        if self.alias not in aliases:
            raise ModelError(f"{self.model} has no alias '{self.alias}' any more. Set it again.")
        return aliases[self.alias]
