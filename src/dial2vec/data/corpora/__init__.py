"""Corpora by name: those with a reader of their own, and your own transcripts under any other name."""

from __future__ import annotations

from pathlib import Path

from dial2vec.config import JOIN, Read, parts_of
from dial2vec.data.corpora.amazon_qa import AmazonQa
from dial2vec.data.corpora.bitod import Bitod
from dial2vec.data.corpora.camrest676 import CamRest676
from dial2vec.data.corpora.corpus import Corpus
from dial2vec.data.corpora.demo import DemoCorpus
from dial2vec.data.corpora.doc2dial import Doc2dial
from dial2vec.data.corpora.dstc2 import Dstc2
from dial2vec.data.corpora.dstc7 import Dstc7Advising, Dstc7Ubuntu
from dial2vec.data.corpora.ecd import Ecd
from dial2vec.data.corpora.frames import Frames
from dial2vec.data.corpora.gsim import Gsim
from dial2vec.data.corpora.jddc import Jddc
from dial2vec.data.corpora.joint import Joint
from dial2vec.data.corpora.metalwoz import Metalwoz
from dial2vec.data.corpora.msr_e2e import MsrE2e
from dial2vec.data.corpora.multiwoz import Multiwoz
from dial2vec.data.corpora.self_dialogue import SelfDialogue
from dial2vec.data.corpora.sgd import Sgd
from dial2vec.data.corpora.smd import Smd
from dial2vec.data.corpora.taskmaster import Taskmaster1, Taskmaster2, Taskmaster3, Taskmaster4
from dial2vec.data.corpora.transcripts import Transcripts, transcript_files
from dial2vec.data.corpora.ubuntu_v2 import UbuntuV2
from dial2vec.data.corpora.woz import Woz
from dial2vec.errors import CorpusError, did_you_mean

CORPORA: dict[str, type[Corpus]] = {
    "demo": DemoCorpus,
    "sgd": Sgd,
    "self_dialogue": SelfDialogue,
    "bitod": Bitod,
    "doc2dial": Doc2dial,
    "metalwoz": Metalwoz,
    "multiwoz": Multiwoz,
    "taskmaster1": Taskmaster1,
    "taskmaster2": Taskmaster2,
    "taskmaster3": Taskmaster3,
    "taskmaster4": Taskmaster4,
    "msr_e2e": MsrE2e,
    "smd": Smd,
    "frames": Frames,
    "woz": Woz,
    "camrest676": CamRest676,
    "dstc2": Dstc2,
    "gsim": Gsim,
    "ubuntu_v2": UbuntuV2,
    "dstc7_ubuntu": Dstc7Ubuntu,
    "dstc7_advising": Dstc7Advising,
    "amazon_qa": AmazonQa,
    "jddc": Jddc,
    "ecd": Ecd,
}


def require_name(name: str) -> None:
    """Raise if a corpus name is invalid.

    :raises CorpusError: if it is.
    """
    # A name is also a folder, a stage and a registry entry: no separators, no dots.
    if not name.isascii() or not name.replace("_", "").isalnum():
        raise CorpusError(f"{name!r} is no corpus name; use letters, digits and '_' only.")


def get_corpus(name: str, *, data: Path, options: Read | None = None) -> Corpus:
    """Return the reader of a corpus: one of `CORPORA`, else `Transcripts` if `data/<name>` holds JSON Lines.

    A name such as `sgd+calls` joins several corpora.

    :param data: Folder with one folder per corpus.
    :param options: Options of the reader; None takes the defaults.
    :raises CorpusError: if the name is unknown; the error says how to add own transcripts.
    """
    options = options or Read()
    if JOIN in name:
        names = parts_of(name)
        if len(set(names)) < len(names):
            raise CorpusError(f"{name!r} joins a corpus with itself; expected different ones. Name each once.")
        return Joint(options, {part: get_corpus(part, data=data, options=options) for part in names})
    if name in CORPORA:
        return CORPORA[name](options)
    require_name(name)
    if transcript_files(data / name):
        return Transcripts(options)
    files = sorted(path.name for path in (data / name).iterdir()) if name and (data / name).is_dir() else []
    hint = f" {data / name} holds no JSON Lines, only {', '.join(files[:5])}." if files else ""
    raise CorpusError(
        f"unknown corpus {name!r}.{did_you_mean(name, CORPORA)}{hint} Known: {', '.join(CORPORA)}. To add an "
        f"export of your own, run `dial2vec import FILE --name {name or 'NAME'}`, or put JSON Lines (*.jsonl or "
        f"*.jsonl.gz) into {data}/<name>/, a name of letters, digits and '_'."
    )
