"""Every kind of file x flipped, cut, zeroed, gone: a sentence, healed, or the same answers; never others in silence.

A file of a kind that `KINDS` does not name fails the test: whoever adds a file says what becomes of it when it is
damaged. docs/reliability.md has the table.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.students import save_student

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.clustering.clusters import read_assigned
from dial2vec.collection.explorer.maps import read_map
from dial2vec.collection.explorer.texts import Texts
from dial2vec.collection.search.filters import Filters
from dial2vec.collection.search.search import Search
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.checksums import write_checksums
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import Dial2vecError
from dial2vec.project.dvc_cache import object_path, recorded_files, set_aside_damaged
from dial2vec.registry.store import encoder_folder

# What is asked for, and the outcomes that are right: "told" is a warning beside the answers, "healed" the same answers
# after `index`, and "by hand" a file that people write, whose content counts as it is.
COLLECTION = {
    "collection.json": {"sentence"},
    "vectors.f32": {"sentence"},
    "dialogues.jsonl": {"sentence"},
    "rows/*.parquet": {"sentence"},
    "checksums.json": {"sentence", "told", "same"},
    "model/*": {"sentence", "same"},
    "model/1_Normalize/*": {"same"},
    "adapted/*": {"sentence", "same", "told"},
    "turns/*": {"told", "same"},
    "turns/model/*": {"told", "same"},
    "turns/words/*": {"told", "same"},
    "clusters/clusters.json": {"sentence", "same"},
    "clusters/centres-*.npz": {"sentence", "same"},
    "clusters/assignment.parquet": {"sentence", "same"},
    "clusters/assignment.csv": {"same"},
    "segments/*": {"sentence", "same"},
    "lenses/*.parquet": {"sentence", "same"},
    "lenses/*": {"same"},
    "map/*": {"sentence", "same"},
    ".gitignore": {"same"},
    ".lock": {"same"},
}
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "flip": lambda content: bytes(byte ^ (at == len(content) // 2) for at, byte in enumerate(content)),
    "cut": lambda content: content[: len(content) // 2],
    "zero": lambda content: content[: len(content) // 3] + bytes(len(content) - len(content) // 3),
    "vanish": lambda _: None,
}


def damaged(path: Path, how: str) -> bool:
    """Damage a file, with its time kept; return False if that leaves it as it is."""
    content, before = path.read_bytes(), path.stat()
    after = DAMAGES[how](content) if content or how == "vanish" else content
    # A link shares its content with another file.
    path.unlink()
    if after is not None:
        path.write_bytes(after)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return after != content


def kind_of(name: str, kinds: dict[str, set[str]]) -> str:
    """Return the most special kind of a file; the test fails without one."""
    fits = [kind for kind in kinds if Path(name).match(kind) and (kind.count("/") <= name.count("/"))]
    fits += [kind for kind in kinds if kind.endswith("/*") and name.startswith(kind[:-1])]
    assert fits, f"{name} is of no known kind; say in KINDS what becomes of it when it is damaged"
    return max(fits, key=len)


def said_by(ask: Callable[[], object]) -> str:
    """Return what a question is answered by: its result, or its error as one sentence."""
    try:
        return repr(ask())
    except (Dial2vecError, OSError) as error:
        # The command prints an error of the system as a sentence, too.
        said = str(error)
        assert "\n" not in said
        return f"Error: {said}"


def answers(folder: Path, caplog) -> tuple[list[str], list[str]]:
    """Return the answers to some questions about a collection, and the warnings beside them."""
    caplog.clear()
    asked: list[Callable[[], object]] = [
        lambda: Search(Collection(folder)).answer("w1 w2 w3", 5).hits,
        lambda: Search(Collection(folder)).answer("w1 w2 w3", 5, way="themes").hits,
        lambda: Collection(folder).groups().to_csv(),
        lambda: read_assigned(Collection(folder), ["cluster", "similarity", "name"]).to_pylist(),
        lambda: Collection(folder).segments().to_csv(),
        lambda: Filters(where=("topic = one",)).rows(Collection(folder)).tolist(),
        lambda: read_map(folder / "map" / "trained.npz", Collection(folder)).points.tobytes(),
        lambda: Texts(Collection(folder)).rows_with(["w1 w2"]).tolist(),
        lambda: np.asarray(Collection(folder).adapted).round(5).tobytes(),
    ]
    return [said_by(ask) for ask in asked], [record.getMessage() for record in caplog.records]


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """A collection with all that commands make of it."""
    from dial2vec.collection.explorer.maps import maps_of

    folder = tmp_path_factory.mktemp("damage") / "calls"
    rng = np.random.default_rng(0)
    made = []
    for number in range(100):
        own = np.arange(40).reshape(4, 10)[[number % 3, 3]].ravel()
        turns = [Turn("ab"[at % 2], " ".join(f"w{word}" for word in rng.choice(own, 4))) for at in range(6)]
        made.append(Dialogue(f"d{number}", tuple(turns)))
    encoder = load_encoder(save_student(folder.with_name("student")))
    for part in (made[:60], made):
        write_dialogues(folder.with_suffix(".jsonl"), part)
        add(folder, folder.with_suffix(".jsonl"), encoder=encoder, progress=False)
    opened = Collection(folder)
    opened.groups()
    opened.segments()
    opened.lens("topic", {"one": "w1 w2", "two": "w11 w12"})
    maps_of(opened, progress=False)
    Texts(opened)
    return folder


def test_no_damage_of_a_collection_changes_an_answer_in_silence(collection, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    whole, warned = answers(collection, caplog)
    assert [answer for answer in whole if answer.startswith("Error")] == []
    assert warned == []
    names = sorted(path.relative_to(collection).as_posix() for path in collection.rglob("*") if path.is_file())
    wrong = []
    for name in names:
        kind = kind_of(name, COLLECTION)
        for how in DAMAGES:
            folder = tmp_path / "copy"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(collection, folder)
            if not damaged(folder / name, how):
                continue
            found, warned = answers(folder, caplog)
            outcome = "same"
            for before, after in zip(whole, found, strict=True):
                if after.startswith("Error: "):
                    outcome = "sentence"
                elif before.replace(str(collection), str(folder)) != after and outcome != "sentence":
                    outcome = "told" if any("damaged" in line or "index" in line for line in warned) else "SILENT"
            if outcome == "same" and warned:
                outcome = "told"
            if outcome not in COLLECTION[kind]:
                wrong.append((name, how, outcome, warned[:1]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", ["turns.json", "vectors.i8", "scales.f32", "words/words.json", "calibration.json"])
@pytest.mark.parametrize("how", DAMAGES)
def test_index_heals_turns_and_words(collection, tmp_path, caplog, name, how):
    folder = shutil.copytree(collection, tmp_path / "copy")
    whole, _ = answers(folder, caplog)
    damaged(folder / "turns" / name, how)
    add(folder, folder / "dialogues.jsonl", encoder=load_encoder(folder / "model"), progress=False)
    healed, warned = answers(folder, caplog)
    # Turns that are encoded together again differ by rounding.
    hits = [re.findall(r"dialogue_id='(\w+)'", found[0]) for found in (whole, healed)]
    assert (hits[0], whole[1:], []) == (hits[1], healed[1:], warned)


@pytest.mark.parametrize("kind", ["student", "encoder"])
def test_no_damage_of_a_model_changes_vectors_in_silence(tmp_path, tiny_folder, kind):
    saved, dialogue = tmp_path / "saved", Dialogue("d", (Turn("a", "w1 w2"), Turn("b", "w3")))
    if kind == "student":
        save_student(saved)
    else:
        DialogueEncoder.from_pretrained(tiny_folder).save_pretrained(saved)
    whole = load_encoder(saved).encode([dialogue])
    for path in [path for path in saved.rglob("*") if path.is_file()]:
        for how in DAMAGES:
            folder = shutil.copytree(saved, tmp_path / "copy", dirs_exist_ok=True)
            damaged(folder / path.relative_to(saved), how)
            said = said_by(lambda folder=folder: load_encoder(folder).encode([dialogue]).tobytes())
            assert said == repr(whole.tobytes()) or re.match(r"Error: .*(damaged|missing|no model)", said), (path, how)


def test_no_damaged_file_of_a_registered_version_is_used(tmp_path):
    model = tmp_path / "model"
    save_student(model / "artifacts" / "encoder")
    (model / "MLmodel").write_text("flavors: {python_function: {artifacts: {encoder: {path: artifacts/encoder}}}}")
    (model / "python_model.pkl").write_bytes(b"code")
    write_checksums(model)
    version = SimpleNamespace(name="dial2vec-calls", version="3")
    for path in [path for path in model.rglob("*") if path.is_file() and path.name != "checksums.json"]:
        for how in DAMAGES:
            copy = shutil.copytree(model, tmp_path / "copy", dirs_exist_ok=True)
            if not damaged(copy / path.relative_to(model), how):
                continue
            client = SimpleNamespace(get_model_version_download_uri=lambda *_, copy=copy: str(copy))
            said = said_by(lambda client=client: encoder_folder(client, version))
            assert said.startswith("Error: "), (path, how)
            assert "dial2vec rollback calls" in said or "are gone" in said, (path, how)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("here", [True, False], ids=["file here", "file gone"])
def test_no_damaged_object_of_dvcs_cache_stays(tmp_path, how, here):
    text = b'{"dialogue_id": "d"}\n' * 20
    md5, cache = hashlib.md5(text).hexdigest(), tmp_path / ".dvc" / "cache" / "files" / "md5"
    path, file = object_path(cache, md5), tmp_path / "data" / "a.jsonl"
    for place in (path, file):
        place.parent.mkdir(parents=True)
        place.write_bytes(text)
    (tmp_path / "data.dvc").write_text(f"outs:\n- md5: {md5}\n  path: data/a.jsonl\n")
    if not here:
        file.unlink()
    damaged(path, how)
    told = set_aside_damaged(tmp_path)
    assert bool(told) == (how != "vanish")
    assert not path.exists() or path.read_bytes() == text
    assert path.exists() == (here and how != "vanish")
    assert recorded_files(tmp_path, cache) == [(file, md5)]
