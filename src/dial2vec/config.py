"""Typed, frozen settings: defaults and ranges of `params.yaml` and `operation.yaml`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

Method = Literal["auto", "neighbours", "dial2vec", "dse", "dialoguecse", "dialaug", "intent_augmentation"]
# Names in `training.augmentation.WAYS` that keep the intent; copied here because importing them is slow.
PreservingWay = Literal["insertion", "back_translation", "shuffling", "shortening", "lengthening"]
# Between the names of corpora that are trained together.
JOIN = "+"
# Value of `prepare.shares`: as many training dialogues of each joined corpus as the smallest one has.
EQUAL_SHARES = "equal"
ContextInput = Literal["eot", "eot_turns"]
PaperInput = Literal["t5", "t5_turns", "blender", "blender_turns", "tod_bert", "tod_bert_turns", "plato", "plato_turns"]


def parts_of(corpus: str) -> tuple[str, ...]:
    """Return the names of the corpora that a name such as `sgd+woz` joins, or the name itself."""
    return tuple(corpus.split(JOIN))


def part_of(dialogue_id: str) -> str:
    """Return the corpus of a dialogue of joined corpora, whose id is `<corpus>/<id>`."""
    return dialogue_id.partition("/")[0]


def bounded(default: float | None, *, low: float, high: float = inf) -> Any:
    """Return a dataclass field with a valid range, both ends included; `params` refuses other values."""
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True, slots=True)
class Read:
    """Options of reading a corpus (block `read`, stage validate; docs/corpora.md)."""

    merge_turns: bool = False
    sgd_labels: Literal["service", "domain"] = "service"
    multiwoz_splits: Literal["official", "pooled"] = "official"
    multiwoz_overlap: bool = False
    multiwoz_labels: Literal["goal", "acts", "acts_and_booking", "slots", "file"] = "goal"
    bitod_labels: Literal["goal", "active", "active_and_chat", "intents"] = "goal"
    doc2dial_test: Literal["validation", "test", "testdev", "finaltest"] = "validation"


@dataclass(frozen=True, slots=True)
class Validate:
    """Limits of the expectations (block `validate`; docs/data.md)."""

    max_turn_words: int = bounded(2000, low=1)
    max_speakers: int = bounded(200, low=2, high=10_000)
    roles: tuple[str, ...] = ()
    min_dialogues: int = bounded(10, low=1)
    max_quarantined_share: float = bounded(0.05, low=0, high=1)
    max_one_speaker_share: float = bounded(0.05, low=0, high=1)
    near_empty_words: int = bounded(5, low=0)
    max_near_empty_share: float = bounded(0.05, low=0, high=1)
    over_long_words: int = bounded(10_000, low=1)
    max_over_long_share: float = bounded(0.05, low=0, high=1)
    max_duplicate_share: float = bounded(0.1, low=0, high=1)
    min_labelled_share: float = bounded(0.0, low=0, high=1)
    min_alternation: float = bounded(0.3, low=0, high=1)
    max_length_drift: float = bounded(0.3, low=0, high=1)
    max_language_drift: float = bounded(0.2, low=0, high=1)
    max_size_drift: float = bounded(0.2, low=0, high=1)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Splitting of a corpus, and shares of joint corpora (block `prepare`; docs/corpora.md)."""

    dev_share: float = bounded(0.1, low=0, high=0.5)
    test_share: float = bounded(0.1, low=0, high=0.5)
    near_duplicate: float = bounded(0.8, low=0.7, high=1)
    shares: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Negatives of the self-guided task (block `sample`; Liu et al. 2022, section 3.1)."""

    negatives: int = bounded(9, low=1, high=999)
    passes: int = bounded(1, low=1)
    keep_role: Literal["random", "first", "second"] = "random"
    min_turns: int = bounded(5, low=2)
    among: Literal["all", "cluster"] = "all"


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The base encoder and its input (block `encoder`)."""

    name: str = "all-MiniLM-L6-v2"
    max_length: int = bounded(512, low=8)
    input: Literal["auto", "text", "separators", "eou", "closed", "turns", PaperInput, ContextInput] = "auto"
    last_turns: int | None = bounded(None, low=1)
    pooling: Literal["role", "mean", "turns", "cls", "separators"] = "role"
    hierarchy: Literal["none", "hssa", "biden"] = "none"
    turn_embeddings: bool = False
    role_embeddings: bool = False


@dataclass(frozen=True, slots=True)
class Train:
    """Method and optimisation (block `train`; the recipe and its figures: docs/recipe.md)."""

    method: Method | tuple[Method, ...] = "auto"
    neighbourhood: int | None = bounded(5000, low=100)
    temperature: float = bounded(0.2, low=1e-3, high=100)
    window: int | None = bounded(10, low=1)
    loss_mean: Literal["dialogues", "columns"] = "dialogues"
    learning_rate: float = bounded(1e-4, low=0, high=1)
    epochs: int = bounded(1, low=0)
    max_dialogues: int | None = bounded(1920, low=1)
    max_length: int = bounded(256, low=8)
    batch_size: int = bounded(8, low=1)
    gradient_accumulation: int = bounded(4, low=1)
    batches: Literal["random", "length"] = "random"
    frozen_share: float = bounded(0.5, low=0, high=1)
    attention_dropout: bool = False
    warmup_share: float = bounded(0.1, low=0, high=0.99)
    weight_decay: float = bounded(0.0, low=0)
    max_gradient_norm: float = bounded(1.0, low=0)
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    log_steps: int = bounded(5, low=1)
    checkpoint_steps: int = bounded(30, low=1)

    def methods(self, *, gpu: bool) -> tuple[Method, ...]:
        """Return the methods that train on a machine with or without a GPU, in their order."""
        if self.method == "auto":
            return ("neighbours", "dial2vec") if gpu else ("neighbours",)
        return self.method if isinstance(self.method, tuple) else (self.method,)


@dataclass(frozen=True, slots=True)
class Dse:
    """Method dse: trains on pairs of consecutive utterances (block `dse`; Zhou et al. 2022)."""

    pairs: Literal["1-1", "2-1", "3-1", "123-1", "dropout", "dianli"] = "1-1"
    pairs_file: str | None = None
    min_words: int = bounded(4, low=1)
    weights: Literal["code", "paper"] = "code"
    temperature: float = bounded(0.05, low=1e-3, high=100)
    learning_rate: float = bounded(3e-6, low=0, high=1)
    head_learning_rate: float = bounded(3e-4, low=0, high=1)
    epochs: int = bounded(1, low=1)
    batch_size: int = bounded(128, low=2)
    frozen_share: float = bounded(0.0, low=0, high=0.99)
    max_pairs: int | None = bounded(12800, low=2)
    max_length: int = bounded(32, low=4)


@dataclass(frozen=True, slots=True)
class DialogueCse:
    """Method dialoguecse: trains utterances with the turns around them (block `dialoguecse`; Liu et al. 2021)."""

    guidance: Literal["matching", "siamese_single", "siamese_multi", "none"] = "matching"
    aggregation: Literal["mean", "attention"] = "mean"
    mlm_epochs: float = bounded(0.5, low=0)
    mlm_max_utterances: int | None = bounded(2000, low=1)
    mlm_max_masks: int | None = bounded(10, low=1)
    context_turns: int = bounded(3, low=1)
    negatives: int = bounded(9, low=1, high=999)
    min_turns: int = bounded(4, low=2)
    temperature: float = bounded(0.1, low=1e-3, high=100)
    learning_rate: float = bounded(5e-5, low=0, high=1)
    epochs: int = bounded(1, low=1)
    batch_size: int = bounded(20, low=1)
    frozen_share: float = bounded(0.5, low=0, high=0.99)
    max_responses: int | None = bounded(2000, low=1)
    max_length: int = bounded(100, low=4)


@dataclass(frozen=True, slots=True)
class DialAug:
    """Method dialaug: trains damaged contexts to find their responses (block `dialaug`; Poddar et al. 2022)."""

    augmentation: Literal["conmix", "truncation", "deletion", "reordering", "replacement", "none"] = "conmix"
    share: float | None = bounded(None, low=0, high=1)
    deleted: str = "[unused1]"
    answering: Literal["any", "first", "second"] = "second"
    pooling: Literal["cls", "mean"] = "mean"
    end_of_turn: Literal["separator", "eot"] = "separator"
    scoring: Literal["dot", "poly"] = "dot"
    codes: int = bounded(16, low=1, high=1000)
    contrast: float = bounded(0.5, low=0)
    positive_in_sum: bool = True
    temperature: float = bounded(0.07, low=1e-3, high=100)
    learning_rate: float = bounded(5e-5, low=0, high=1)
    epochs: int = bounded(1, low=1)
    batch_size: int = bounded(20, low=2)
    frozen_share: float = bounded(0.0, low=0, high=0.99)
    max_responses: int | None = bounded(2000, low=2)
    max_length: int | None = bounded(None, low=8)
    max_response_length: int | None = bounded(None, low=4)


@dataclass(frozen=True, slots=True)
class IntentAugmentation:
    """Method intent_augmentation: trains on variants that keep the intent (block `intent_augmentation`)."""

    ways: tuple[PreservingWay, ...] = ("shuffling", "shortening", "lengthening")
    stages: Literal["runs", "clusters"] = "runs"
    masked_model: str | None = None
    masked_steps: int = bounded(600, low=1)
    translation_models: tuple[str, ...] = ()
    temperature: float | None = bounded(None, low=1e-3, high=100)
    learning_rate: float = bounded(3e-5, low=0, high=1)
    epochs: int = bounded(1, low=1)
    batch_size: int = bounded(16, low=2)
    frozen_share: float = bounded(0.5, low=0, high=1)
    max_dialogues: int | None = bounded(960, low=2)
    max_length: int = bounded(256, low=8)


@dataclass(frozen=True, slots=True)
class Select:
    """Choice among the base encoder and the candidates, on dev (block `select`)."""

    selection: Literal["label_free", "dev_purity", "last"] = "label_free"
    max_dialogues: int = bounded(500, low=40)
    bootstraps: int = bounded(20, low=1, high=1000)


@dataclass(frozen=True, slots=True)
class Distil:
    """Training of a student: a table of token vectors that imitates an encoder (block `distil`; docs/student.md)."""

    teacher: str = "run"
    targets: Literal["neighbours", "vectors"] = "neighbours"
    epochs: int = bounded(6, low=0, high=40)
    max_dialogues: int | None = bounded(20_000, low=100)
    learning_rate: float = bounded(3e-3, low=0, high=1)
    batch_size: int = bounded(256, low=1)
    rows: Literal["fp32", "fp16", "int8"] = "fp16"


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Scoring of the three tasks (block `evaluate`)."""

    kmeans_runs: int | None = bounded(30, low=1)
    kmeans: Literal["ours", "paper", "release"] = "ours"
    clusters: Literal["split", "corpus"] = "split"
    max_dialogues: int | None = bounded(10_000, low=3)
    batch_size: int = bounded(32, low=1)


@dataclass(frozen=True, slots=True)
class Promote:
    """Minimum gains on dev for promotion to champion, in points, and their confidence (block `promote`).

    `student_tolerance` is the largest loss of a student against its teacher, in points.
    """

    min_purity_gain: float = bounded(0.0, low=-100, high=100)
    min_spearman_gain: float = bounded(0.0, low=-100, high=100)
    min_map_gain: float = bounded(0.5, low=-100, high=100)
    confidence: float = bounded(0.95, low=0, high=0.999)
    student_tolerance: float = bounded(5.0, low=0, high=100)


@dataclass(frozen=True, slots=True)
class Settings:
    """All of `params.yaml`.

    :param corpora: names of the corpora that the pipeline runs on, in this order.
    :param seed: seed of all random draws.
    :param processes: number of processes on this machine that train one encoder together, one per GPU.
    """

    corpora: tuple[str, ...] = ("demo",)
    seed: int = bounded(42, low=0, high=2**31 - 1)
    processes: int = bounded(1, low=1, high=1024)
    read: Read = field(default_factory=Read)
    validate: Validate = field(default_factory=Validate)
    prepare: Prepare = field(default_factory=Prepare)
    sample: Sample = field(default_factory=Sample)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    train: Train = field(default_factory=Train)
    dse: Dse = field(default_factory=Dse)
    dialoguecse: DialogueCse = field(default_factory=DialogueCse)
    dialaug: DialAug = field(default_factory=DialAug)
    intent_augmentation: IntentAugmentation = field(default_factory=IntentAugmentation)
    select: Select = field(default_factory=Select)
    distil: Distil = field(default_factory=Distil)
    evaluate: Evaluate = field(default_factory=Evaluate)
    promote: Promote = field(default_factory=Promote)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Scheduled retraining (block `schedule`; docs/schedule.md)."""

    cron: str = "0 3 * * *"
    timezone: str = "UTC"
    overlap: Literal["wait", "refuse"] = "wait"
    inbox: str = "inbox"
    traces: tuple[str, ...] = ()
    redact: bool = False
    min_new_share: float = bounded(0.05, low=0, high=1)
    push: Literal["data", "everything", "nothing"] = "data"
    embed: str | None = None
    notify: str | None = None
    notify_form: Literal["verdict", "text"] = "verdict"
    heartbeat: str | None = None
    min_free_gb: float = bounded(2.0, low=0)
    remote_minutes: float = bounded(60.0, low=0.01)


@dataclass(frozen=True, slots=True)
class Drift:
    """Sample sizes and limits of drift detection (block `drift`; docs/drift.md)."""

    # All pairs of the two sides are compared: 5,000 dialogues of each take 800 MB.
    max_dialogues: int = bounded(500, low=20, high=5000)
    min_dialogues: int = bounded(20, low=5, high=5000)
    # 1,000 permutations cannot give a smaller p-value.
    p_value: float = bounded(0.01, low=0.002, high=0.5)
    min_effect: float = bounded(0.02, low=0, high=1)
    max_far_share: float = bounded(0.03, low=0, high=1)


@dataclass(frozen=True, slots=True)
class Serve:
    """The server (block `serve`; docs/serving.md)."""

    port: int = bounded(5601, low=0, high=65_535)
    check_seconds: float = bounded(10.0, low=0.1)
    max_dialogues: int = bounded(2048, low=1)
    max_body_bytes: int = bounded(4_000_000, low=1)
    max_request_tokens: int = bounded(300_000, low=1)
    batch_tokens: int = bounded(2048, low=1)
    receive_seconds: float = bounded(30.0, low=0.1)
    request_seconds: float = bounded(60.0, low=0.1)
    max_waiting: int = bounded(128, low=1)
    max_connections: int = bounded(512, low=1)


@dataclass(frozen=True, slots=True)
class Prune:
    """Which old versions `dial2vec prune` keeps (block `prune`; docs/champion.md).

    `nightly` is True if each retraining removes the others at its end.
    """

    keep_last: int = bounded(5, low=0)
    keep_days: float = bounded(30.0, low=0)
    nightly: bool = False


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model that describes groups (block `language_model`; docs/language-model.md); prices per million."""

    address: str | None = None
    model: str = ""
    key_variable: str = "OPENAI_API_KEY"
    price_in: float = bounded(0.0, low=0)
    price_out: float = bounded(0.0, low=0)
    timeout: float = bounded(60.0, low=0.1, high=3600)
    dialogues_per_group: int = bounded(4, low=1, high=50)
    instructions: str = ""
    concurrency: int = bounded(4, low=1, high=64)


@dataclass(frozen=True, slots=True)
class ScheduledCollection:
    """A collection that each retraining brings up to date (list `collection`; docs/schedule.md)."""

    folder: str = "topics"
    corpus: str | None = None
    model: Literal["champion", "student", "general"] = "champion"
    regroup: Literal["auto", "never"] = "auto"


@dataclass(frozen=True, slots=True)
class Operation:
    """All of `operation.yaml`; nothing in it changes what a stage computes."""

    schedule: Schedule = field(default_factory=Schedule)
    collection: tuple[ScheduledCollection, ...] = ()
    drift: Drift = field(default_factory=Drift)
    serve: Serve = field(default_factory=Serve)
    prune: Prune = field(default_factory=Prune)
    language_model: LanguageModel = field(default_factory=LanguageModel)


def flat(settings: Settings | Operation) -> dict[str, object]:
    """Return the settings as a flat dictionary: `{"seed": 42, "train.epochs": 1, ...}`."""
    values: dict[str, object] = {}
    for key, value in dataclasses.asdict(settings).items():
        values |= {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    return values
