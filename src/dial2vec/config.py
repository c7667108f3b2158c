"""The settings of the project, typed and frozen: a class for each block of `params.yaml`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

# Names in `training.augmentation.WAYS` that keep the intent; listed here so that settings need not load them.
PreservingWay = Literal["insertion", "back_translation", "shuffling", "shortening", "lengthening"]


@dataclass(frozen=True, slots=True)
class Read:
    """How the files of a corpus become dialogues (block `read`, of stage validate; docs/corpora.md)."""

    merge_turns: bool = False
    sgd_labels: Literal["service", "domain"] = "service"
    multiwoz_splits: Literal["official", "pooled"] = "official"
    multiwoz_overlap: bool = False
    multiwoz_labels: Literal["goal", "acts", "acts_and_booking", "slots", "file"] = "goal"
    bitod_labels: Literal["goal", "active", "active_and_chat", "intents"] = "goal"
    doc2dial_test: Literal["validation", "test", "testdev", "finaltest"] = "validation"


@dataclass(frozen=True, slots=True)
class Validate:
    """Limits of the Great Expectations suites (block `validate`)."""

    max_turn_words: int = 2000
    max_speakers: int = 20
    roles: tuple[str, ...] = ()
    min_dialogues: int = 10
    max_quarantined_share: float = 0.05
    max_one_speaker_share: float = 0.05
    near_empty_words: int = 5
    max_near_empty_share: float = 0.05
    over_long_words: int = 10_000
    max_over_long_share: float = 0.05
    max_duplicate_share: float = 0.1
    min_labelled_share: float = 0.0
    min_alternation: float = 0.3
    max_length_drift: float = 0.3
    max_language_drift: float = 0.2


@dataclass(frozen=True, slots=True)
class Prepare:
    """How a corpus without official splits is split (block `prepare`)."""

    dev_share: float = 0.1
    test_share: float = 0.1
    near_duplicate: float = 0.8


@dataclass(frozen=True, slots=True)
class Sample:
    """Negatives of the self-guided task (block `sample`; Liu et al. 2022, section 3.1)."""

    negatives: int = 9
    passes: int = 1
    keep_role: Literal["random", "first", "second"] = "random"
    min_turns: int = 5
    among: Literal["all", "cluster"] = "all"


@dataclass(frozen=True, slots=True)
class Encoder:
    """The starting encoder and its input (block `encoder`)."""

    name: str = "all-MiniLM-L6-v2"
    max_length: int = 512
    input: Literal[
        "auto",
        "text",
        "separators",
        "closed",
        "turns",
        "t5",
        "t5_turns",
        "blender",
        "blender_turns",
        "tod_bert",
        "tod_bert_turns",
        "plato",
        "plato_turns",
    ] = "auto"
    last_turns: int | None = None
    pooling: Literal["role", "mean", "turns", "cls", "separators"] = "role"
    hierarchy: Literal["none", "hssa", "biden"] = "none"
    turn_embeddings: bool = False
    role_embeddings: bool = False


@dataclass(frozen=True, slots=True)
class Train:
    """Method and optimisation (block `train`; the recipe and its figures: docs/recipe.md)."""

    method: Literal["neighbours", "dial2vec", "dse", "dialoguecse", "dialaug", "intent_augmentation"] = "neighbours"
    neighbourhood: int | None = 5000
    temperature: float = 0.2
    window: int | None = 10
    loss_mean: Literal["dialogues", "columns"] = "dialogues"
    learning_rate: float = 1e-4
    epochs: int = 1
    max_dialogues: int | None = 1920
    max_length: int = 256
    batch_size: int = 8
    gradient_accumulation: int = 4
    frozen_share: float = 0.5
    attention_dropout: bool = False
    warmup_share: float = 0.1
    weight_decay: float = 0.0
    max_gradient_norm: float = 1.0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    log_steps: int = 5
    checkpoint_steps: int = 30


@dataclass(frozen=True, slots=True)
class Dse:
    """Method dse: pairs of consecutive utterances (block `dse`; Zhou et al. 2022)."""

    pairs: Literal["1-1", "2-1", "3-1", "123-1", "dropout"] = "1-1"
    min_words: int = 4
    temperature: float = 0.05
    learning_rate: float = 3e-6
    head_learning_rate: float = 3e-4
    epochs: int = 1
    batch_size: int = 128
    frozen_share: float = 0.0
    max_pairs: int | None = 12800
    max_length: int = 32


@dataclass(frozen=True, slots=True)
class DialogueCse:
    """Method dialoguecse: utterances guided by the turns around them (block `dialoguecse`; Liu et al. 2021)."""

    guidance: Literal["matching", "siamese_single", "siamese_multi"] = "matching"
    aggregation: Literal["mean", "attention"] = "mean"
    mlm_epochs: float = 0.5
    mlm_max_utterances: int | None = 2000
    context_turns: int = 3
    negatives: int = 9
    min_turns: int = 4
    temperature: float = 0.1
    learning_rate: float = 5e-5
    epochs: int = 1
    batch_size: int = 20
    frozen_share: float = 0.5
    max_responses: int | None = 2000
    max_length: int = 100


@dataclass(frozen=True, slots=True)
class DialAug:
    """Method dialaug: contexts and responses, the contexts damaged (block `dialaug`; Poddar et al. 2022)."""

    augmentation: Literal["conmix", "truncation", "deletion", "reordering", "replacement", "none"] = "conmix"
    share: float | None = None
    deleted: str = "[unused1]"
    answering: Literal["any", "first", "second"] = "second"
    pooling: Literal["cls", "mean"] = "mean"
    contrast: float = 0.5
    temperature: float = 0.07
    learning_rate: float = 5e-5
    epochs: int = 1
    batch_size: int = 20
    frozen_share: float = 0.0
    max_responses: int | None = 2000
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class IntentAugmentation:
    """Method intent_augmentation: variants that keep the intent, and some that do not (block of that name)."""

    ways: tuple[PreservingWay, ...] = ("shuffling", "shortening", "lengthening")
    masked_model: str | None = None
    translation_models: tuple[str, ...] = ()
    temperature: float = 0.05
    learning_rate: float = 3e-5
    epochs: int = 1
    batch_size: int = 16
    frozen_share: float = 0.5
    max_dialogues: int | None = 960
    max_length: int = 256


@dataclass(frozen=True, slots=True)
class Select:
    """The choice among the start and the candidates of training, on dev (block `select`)."""

    selection: Literal["label_free", "dev_purity", "last"] = "label_free"
    max_dialogues: int = 500
    bootstraps: int = 20


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The three tasks (block `evaluate`)."""

    kmeans_runs: int | None = 30
    batch_size: int = 32


@dataclass(frozen=True, slots=True)
class Promote:
    """The gate in front of the alias `champion`: least gain on dev, in points, and how sure (block `promote`)."""

    min_purity_gain: float = 0.0
    min_spearman_gain: float = 0.0
    min_map_gain: float = 0.5
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Schedule:
    """Retraining by itself (block `schedule`; docs/schedule.md)."""

    cron: str = "0 3 * * *"
    timezone: str = "UTC"
    overlap: Literal["wait", "refuse"] = "wait"
    inbox: str = "inbox"
    redact: bool = False
    min_new_share: float = 0.05
    push: Literal["data", "everything", "nothing"] = "data"
    embed: str | None = None
    notify: str | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """What `dial2vec drift` compares, and what it lets pass (block `drift`; docs/drift.md)."""

    max_dialogues: int = 500
    min_dialogues: int = 20
    p_value: float = 0.01
    min_effect: float = 0.02
    max_far_share: float = 0.03


@dataclass(frozen=True, slots=True)
class Serve:
    """The server (block `serve`; docs/serving.md)."""

    port: int = 5601
    check_seconds: float = 10.0
    max_dialogues: int = 64
    max_body_bytes: int = 4_000_000
    receive_seconds: float = 30.0
    max_waiting: int = 32
    max_connections: int = 512


@dataclass(frozen=True, slots=True)
class Settings:
    """All of `params.yaml`.

    :param corpora: names of the corpora that the pipeline runs on, in order.
    :param seed: the seed from which every random draw of every stage derives.
    :param processes: that share the training of one encoder on this machine, one per GPU.
    """

    corpora: tuple[str, ...] = ("demo",)
    seed: int = 42
    processes: int = 1
    read: Read = field(default_factory=Read)
    validate: Validate = field(default_factory=Validate)
    prepare: Prepare = field(default_factory=Prepare)
    sample: Sample = field(default_factory=Sample)
    encoder: Encoder = field(default_factory=Encoder)
    train: Train = field(default_factory=Train)
    dse: Dse = field(default_factory=Dse)
    dialoguecse: DialogueCse = field(default_factory=DialogueCse)
    dialaug: DialAug = field(default_factory=DialAug)
    intent_augmentation: IntentAugmentation = field(default_factory=IntentAugmentation)
    select: Select = field(default_factory=Select)
    evaluate: Evaluate = field(default_factory=Evaluate)
    promote: Promote = field(default_factory=Promote)
    schedule: Schedule = field(default_factory=Schedule)
    drift: Drift = field(default_factory=Drift)
    serve: Serve = field(default_factory=Serve)


def flat(settings: Settings) -> dict[str, object]:
    """Return the settings as one level: `{"seed": 42, "train.epochs": 1, ...}`."""
    values: dict[str, object] = {}
    for key, value in dataclasses.asdict(settings).items():
        values |= {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    return values
