"""Small fakes that every test can use: a tiny BERT with a word-level tokenizer, and dialogues from one-liners."""

from __future__ import annotations

from dial2vec import telemetry

telemetry.switch_off()

import gc  # noqa: E402

# Until all test files are imported (pytest_collection_finish): a third of the time of their imports.
gc.disable()

import os  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Generator, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402
from filelock import FileLock  # noqa: E402

from conversations.dialogue import Dialogue, Turn  # noqa: E402
from tests import services  # noqa: E402

# On a busy machine any example can take longer than Hypothesis expects.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")
WORDS = [f"w{i}" for i in range(40)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that start services, the long ones: else one process has such a file left at the end."""
    long = {item.path for item in items if item.get_closest_marker("services")}
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with services.only(services.services_of(item)):
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for service in services.services_of(item):
        if not services.is_installed(service):
            pytest.skip(f"no {service} here")


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection: each training collects, and a million objects take a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Python looks for garbage as it ends, too."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_path() -> Iterator[None]:
    """Leave no folder where Python looks for modules: MLflow adds the code of each model that it loads."""
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.fixture(scope="module", autouse=True)
def _imported_later() -> Iterator[None]:
    """The same for what the tests of a file have imported."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def chromium():
    """A page in a browser, for the tests of a file."""
    from browser import browser

    with browser() as page:
        yield page


def make_dialogue(dialogue_id: str, *lines: str, labels: tuple[str, ...] = ()) -> Dialogue:
    """`make_dialogue("d", "a: hello", "b: hi")`."""
    turns = tuple(Turn(*(part.strip() for part in line.split(":", 1))) for line in lines)
    return Dialogue(dialogue_id, turns, labels)


@pytest.fixture
def dialogue() -> Callable[..., Dialogue]:
    return make_dialogue


MadeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Return a folder that one process of the session makes; the others wait for it. Tests copy it, or only read it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        with FileLock(shared / f"{name}.lock"):
            if not (shared / f"{name}.made").exists():
                make(shared / name)
                (shared / f"{name}.made").touch()
        return shared / name

    return made


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a randomly initialised BERT: 4 layers, width 16, 45 words, 64 positions."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )
    set_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def student_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a student of random rows: 40 words, width 16."""
    from tests.students import save_student

    return save_student(tmp_path_factory.mktemp("tiny") / "student")


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an empty MLflow store, to be copied: making one takes a second."""
    from dial2vec.registry.store import open_store

    folder = tmp_path_factory.mktemp("empty")
    open_store(folder)
    return folder
