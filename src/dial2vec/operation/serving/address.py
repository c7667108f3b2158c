"""Address of the served model, in the registry or a folder, and the version that it means at the moment.

The registry, and with it MLflow, is imported only if it is asked: a folder is served without it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from dial2vec.encoder.folder import folder_hash
from dial2vec.encoder.names import resolve
from dial2vec.errors import Dial2vecError, ModelError

REGISTRY = "models:/"


@dataclass(frozen=True)
class Address:
    """A registered model, by an alias, whose version may change, or by a fixed version; or a model's folder.

    :param model: Name of the model; of a folder its own name.
    :param alias: Alias; "" for a fixed version or a folder.
    :param version: Fixed version; of a folder the first characters of its hash; "" for an alias.
    :param path: Folder of the model; None for a registered one.
    """

    model: str
    alias: str
    version: str
    path: Path | None = None

    @classmethod
    def of(cls, text: str, *, root: Path) -> Address:
        """Read "models:/dial2vec-calls@champion", "models:/dial2vec-calls/3" or a folder such as "./student".

        :raises ModelError: if the model does not exist.
        """
        if not text.startswith(REGISTRY):
            path = Path(resolve(text)).resolve()
            if not path.is_dir():
                raise ModelError(f"{text} is not a folder with a model. Check the path.")
            return cls(path.name, "", folder_hash(path)[:8], path)
        from dial2vec.registry.tracking import local_model

        local_model(text, root=root)
        model, _, alias = text.removeprefix(REGISTRY).partition("@")
        model, _, version = model.partition("/")
        return cls(model, alias, version)

    def current(self, root: Path) -> str:
        """Return the version of the address at this moment.

        :raises ModelError: if the store cannot be used, or the alias is gone.
        """
        if not self.alias:
            return self.version
        from dial2vec.registry.by_hand import noticed
        from dial2vec.registry.store import PREFIX, aliases_of, opened

        # A deleted champion gets a successor; a server that may not write to the registry leaves that to others.
        with contextlib.suppress(Dial2vecError):
            noticed(root, self.model.removeprefix(PREFIX))
        with opened(root) as client:
            aliases = aliases_of(client, self.model)
        if self.alias not in aliases:
            raise ModelError(f"{self.model} has no alias '{self.alias}' any more. Set it again.")
        return aliases[self.alias]

    def folder(self, version: str, root: Path) -> Path:
        """Return the folder of a version's encoder; files of a server are downloaded once.

        :raises ModelError: if the version or its files are missing, or the store cannot be used.
        """
        if self.path is not None:
            return self.path
        from dial2vec.registry.tracking import local_model

        return local_model(f"{REGISTRY}{self.model}/{version}", root=root)
