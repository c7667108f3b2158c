"""The commands `dial2vec papers ...`: tables, evaluation, settings and queries of the papers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from dial2vec.cli.group import complete_public, examples
from dial2vec.errors import Dial2vecError
from dial2vec.files import find_root

SPLITS = ("train", "dev", "test")
Command = TypeVar("Command", bound=Callable[..., Any])


# Options of the data of the tasks, by the field of `tasks.sources.Sources`.
FILES = {
    "intents": "Folder or zip of Clinc150, Bank77, SNIPS, HWU64.",
    "pairs": "TSV file of score, sentence, sentence.",
    "candidates": "File of queries with candidates, in DialogueCSE's format.",
    "queries": "File of contexts with candidate responses, from `dial2vec papers queries`.",
    "inferences": "File of sentences that follow or contradict.",
    "actions": "Folder or zip of SGD, GSIM or DSTC2.",
}
LOSSES, POSITIVE = click.Choice(["simclr", "release"]), click.IntRange(1)
DATA = {name: click.option(f"--{name}", type=click.Path(path_type=Path), help=words) for name, words in FILES.items()}
DATA |= {
    "limit": click.option("--limit", default=1000, show_default=True, type=POSITIVE, help="Largest number of queries."),
    "shots": click.option(
        "--shot", "shots", multiple=True, type=POSITIVE, help="Examples to train on; may be repeated."
    ),
    "draws": click.option("--draws", type=POSITIVE, help="Draws of these examples."),
    "loss": click.option("--loss", type=LOSSES, default="simclr", help="Loss of answers: the paper's, or its code's."),
}


def take_device(device: str | None) -> None:
    """Let this process, and those that it starts, see no other GPU than `device`; None takes one if there is one.

    :param device: "cpu", "cuda" or "cuda:1".
    :raises Dial2vecError: if there is no such device.
    """
    if device is None:
        return
    kind, _, number = device.partition(":")
    if kind == "cpu" or number:
        os.environ["CUDA_VISIBLE_DEVICES"] = number
    import torch

    if kind not in ("cpu", "cuda") or (kind == "cuda" and not torch.cuda.is_available()):
        raise Dial2vecError(f"found no device {device!r}; expected cpu, cuda or cuda:1. Name another device.")


DEVICE = click.option(
    "--device", callback=lambda *given: take_device(given[-1]), expose_value=False, help="cpu, cuda or cuda:1."
)


def with_data(command: Command) -> Command:
    """Return a command with the options of `DATA`."""
    for option in reversed(DATA.values()):
        command = option(command)
    return command


def names_of(tasks: str) -> tuple[str, ...]:
    """Return the names in a list of the shell, separated by commas."""
    return tuple(name.strip() for name in tasks.split(",") if name.strip())


@click.command(epilog=examples("dial2vec papers tables --corpus sgd --system start --system default --seed 1"))
@click.option("--corpus", "corpora", metavar="CORPUS", multiple=True, help="A corpus; default: all of params.yaml.")
@click.option("--system", "systems", metavar="SYSTEM", multiple=True, help="A row of the tables; default: all.")
@click.option(
    "--encoder", "encoders", metavar="ENCODER", multiple=True, help="Base encoder; default: that of params.yaml."
)
@click.option(
    "--ablation", "ablations", metavar="SETTING", multiple=True, help="Setting to change in a recipe, or all."
)
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    type=click.IntRange(0, 2**31),
    default=(1, 2, 3),
    show_default=True,
    help="Random seed; may be repeated.",
)
@click.option(
    "--tasks",
    is_flag=False,
    flag_value="",
    help="Score the tasks for utterances, too: all that do not train, or the named ones, separated by commas.",
)
@with_data
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Cells computed at the same time.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder of the tables; default: artifacts/benchmark.")
@click.option("--cells", type=click.Path(path_type=Path), help="JSON Lines file of cells: read, and added to.")
@DEVICE
@click.option("--track/--no-track", default=True, help="Track with DVC and MLflow, or prepare missing splits alone.")
def tables(
    systems: tuple[str, ...],
    ablations: tuple[str, ...],
    tasks: str | None,
    output: Path | None,
    cells: Path | None,
    **options: Any,
) -> None:
    """Fill the papers' tables, with the published figures.

    Runs every SYSTEM from every ENCODER on every CORPUS with every seed, but the papers' whole trainings, which take
    hours, only if you name them, such as dial2vec_paper. Kept cells are not computed again, so a killed run continues.
    Each cell is a run of MLflow's experiment dial2vec-benchmark. Corpora without labels have the tasks only.
    """
    from dial2vec.params import load_settings
    from dial2vec_papers.tables.grid import compute_tables
    from dial2vec_papers.tables.systems import ABLATIONS, ablated, recipe_of
    from dial2vec_papers.tables.utterances import TaskData

    root = find_root()
    changed = ABLATIONS if "all" in ablations else ablations
    rows = [system for name in changed for system in ablated(name)]
    named = [*systems, *(recipe_of(name) for name in changed), *rows]
    data = TaskData(names=names_of(tasks or ""), **{name: options.pop(name) for name in DATA})
    written = compute_tables(
        root,
        load_settings(root / "params.yaml"),
        systems=list(dict.fromkeys(named)),
        tasks=data if tasks is not None or data.given() else None,
        output=output or root / "artifacts" / "benchmark",
        file=cells,
        say=click.echo,
        **options,
    )
    for path in written:
        click.echo(f"wrote {path}")


@click.command(
    epilog=examples("dial2vec papers evaluate --model artifacts/calls/model --intents intents --corpus calls")
)
@click.option("--model", help="Folder, registry address or Hugging Face name.")
@click.option(
    "--baseline", metavar="NAME", help="Baseline instead of a model, such as tfidf_svd; fitted to the train split."
)
@click.option(
    "--tasks", default="", help="Names of tasks, separated by commas; default: all that have data and do not train."
)
@click.option("--corpus", "corpora", multiple=True, help="Corpus whose test split gives responses to select.")
@with_data
@click.option(
    "--similarity",
    type=click.Choice(["cosine", "dot", "poly"]),
    default="cosine",
    show_default=True,
    help="Similarity of contexts and answers; DialAug is trained with dot, or as a Poly-encoder with poly.",
)
@click.option("--runs", type=click.Path(path_type=Path), help="JSON Lines file of trainings: read, and added to.")
@click.option("--pictures", type=click.Path(path_type=Path), help="Folder for t-SNE maps of intents and of answers.")
@click.option("--seed", default=42, show_default=True, type=click.IntRange(0, 2**31), help="Random seed.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON Lines file for the results.")
@DEVICE
def evaluate(
    model: str | None,
    baseline: str | None,
    tasks: str,
    corpora: tuple[str, ...],
    pictures: Path | None,
    similarity: Literal["cosine", "dot", "poly"],
    seed: int,
    output: Path | None,
    **data: Any,
) -> None:
    """Evaluate a model on tasks for utterances.

    Intents, retrieval, response selection, robustness; and by name fine_tuning, answers and actions, which train the
    model on a few examples. Give either --model, or --baseline with one --corpus: the baseline is fitted to its train
    split.
    """
    if (model is None) == (baseline is None):
        given = "neither --model nor --baseline" if model is None else "both --model and --baseline"
        raise Dial2vecError(f"found {given}; expected exactly one of them. Give the one to evaluate.")
    if baseline is not None and len(corpora) != 1:
        raise Dial2vecError(
            f"found {len(corpora)} corpora for the baseline {baseline!r}; expected one, to whose train split it is "
            "fitted. Give --corpus once."
        )
    from dial2vec.params import load_settings
    from dial2vec.pipeline.artifacts import Artifacts
    from dial2vec_papers.tasks.evaluate_encoder import ToFit, evaluate_system
    from dial2vec_papers.tasks.sources import Sources

    kept = {name: Artifacts(find_root(), name) for name in corpora}
    sources = Sources(
        dialogues=tuple((name, splits.split("test")) for name, splits in kept.items()),
        training={name: (splits.split("train"), splits.split("dev")) for name, splits in kept.items()},
        **data,
    )
    system: str | ToFit = model or ""
    if baseline is not None:
        start = load_settings(find_root() / "params.yaml").encoder.name
        system = ToFit(baseline, corpora[0], kept[corpora[0]].split("train"), start)
    names, say = names_of(tasks), click.echo
    evaluate_system(system, names, sources, similarity=similarity, seed=seed, output=output, pictures=pictures, say=say)


@click.command(epilog=examples("dial2vec papers queries ubuntu_v2 --split test --output queries.jsonl"))
@click.argument("corpus", shell_complete=complete_public)
@click.option("--split", type=click.Choice(SPLITS), default="test", show_default=True, help="Split to write.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="JSON Lines file to write.")
def queries(corpus: str, split: str, output: Path) -> None:
    """Write contexts of a public CORPUS with candidate responses.

    Only Ubuntu V2, DSTC7 and ECD come with candidates. Each line has a context with its speakers, the candidates and
    the places of the right ones.
    """
    from conversations.dialogue import Quarantined
    from dial2vec.data.corpora import get_corpus
    from dial2vec.errors import CorpusError
    from dial2vec_papers.corpora.file_corpus import CandidateCorpus
    from dial2vec_papers.corpora.response_queries import write_queries

    root = find_root()
    reader = get_corpus(corpus, data=root / "data")
    if not isinstance(reader, CandidateCorpus):
        raise CorpusError(
            f"{corpus} has no candidates; expected one of the corpora that come with them. Choose another corpus, or "
            "let response selection draw candidates."
        )
    quarantine: list[Quarantined] = []
    written = write_queries(output, reader.queries(root / "data" / corpus, split=split, quarantine=quarantine))
    click.echo(f"{written} contexts with candidates written to {output}, {len(quarantine)} records cannot be used.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)


@click.command(epilog=examples("dial2vec papers preset dial2vec-paper"))
@click.argument("name", required=False)
def preset(name: str | None) -> None:
    """Write the settings of a paper into params.yaml.

    NAME is one of those that the command lists without it, or default, which brings back the values of a new project.
    Only settings of the method, the encoder, the choice and the scoring change; comments stay.
    """
    from dial2vec.params import load_settings
    from dial2vec_papers.presets import PRESETS, notes_on, write_preset

    if name is None:
        for known, settings in PRESETS.items():
            click.echo(f"{known:28}{settings.source}")
        return
    path = find_root() / "params.yaml"
    changed = write_preset(path, name)
    for line in changed or ["params.yaml has these settings already"]:
        click.echo(line)
    if name in PRESETS:
        for note in notes_on(name, load_settings(path).corpora):
            click.echo(f"Note: {note}")
    click.echo("Next: dial2vec run")


COMMANDS = {command.name: command for command in (tables, evaluate, preset, queries)}
