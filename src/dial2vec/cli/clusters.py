"""The command that clusters a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from conversations.words import printable
from dial2vec.cli.group import Renamed, examples, new_path
from dial2vec.cli.table import fitted, width
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.clustering import Clusters
    from dial2vec.collection.clustering.levels import Area
    from dial2vec.collection.collection_folder import CollectionFolder

# Minimum width of a dialogue's text, in characters, on narrow terminals too.
MIN_TEXT = 60


@click.command(epilog=examples("dial2vec cluster calls", "dial2vec cluster calls --k 15 --json"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of clusters; default: as many as there are topics.")
@click.option(
    "--from-scratch",
    "--anew",
    cls=Renamed,
    is_flag=True,
    help="Cluster everything from scratch; clusters that stay together keep their ids.",
)
@click.option("--undo", is_flag=True, help="Bring back the clusters before the last clustering.")
@click.option("--topics", metavar="FILE", type=click.Path(path_type=Path), help="Take over the topics of this file.")
@click.option("--save-topics", metavar="FILE", type=new_path, help="Write the topics, without dialogues, to this file.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def cluster(
    folder: Path, k: int | None, from_scratch: bool, undo: bool, topics: Path | None, save_topics: Path | None,
    seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Group the dialogues of a collection, and name the groups.

    The number of groups comes from the dialogues. Groups that are close to each other form an area, and large groups
    have fine topics. If FOLDER was clustered before, new dialogues join the existing clusters. Writes into
    FOLDER/clusters: assignment.csv, assignment.parquet, and clusters.json with everything known about each cluster.
    """
    if (undo or topics) and (k is not None or from_scratch or (undo and topics)):
        raise Dial2vecError(
            "found two of --undo, --topics, and --k or --from-scratch; expected one of them. --undo brings old "
            "clusters back, --topics takes over those of a file."
        )
    from conversations.progress import bar_to
    from dial2vec.collection.clustering.clustering import cluster as cluster_collection
    from dial2vec.collection.clustering.clustering import clustering_steps, restore_clusters
    from dial2vec.collection.clustering.topics_file import save_topics as write_topics
    from dial2vec.collection.collection_folder import CollectionFolder

    collection = CollectionFolder(folder)
    if undo:
        clusters = restore_clusters(collection)
    else:
        with bar_to(clustering_steps(), "groups") as bar:
            clusters = cluster_collection(
                collection, k=k, seed=seed, from_scratch=from_scratch, topics=topics, done=bar.update
            )
    if save_topics is not None:
        write_topics(collection, save_topics)
        click.echo(f"Topics: {save_topics}", err=as_json)
    if as_json:
        record = json.loads((folder / "clusters" / "clusters.json").read_text(encoding="utf-8"))
        record = {key: value for key, value in record.items() if key not in ("previous", "base")}
        click.echo(json.dumps(record, ensure_ascii=False, indent=2))
        return
    click.echo(_table(clusters, collection))
    for sentence in clusters.news:
        click.echo(sentence)
    if clusters.outside:
        click.echo(f"{clusters.outside:.1%} belong to nothing, and are in the nearest cluster: column `belongs`.")
    say_changes(collection)
    click.echo(f"Cluster of each dialogue: {folder / 'clusters' / 'assignment.csv'}")
    hidden = len(clusters.clusters) - len(clusters.shown)
    if hidden:
        click.echo(f"Hidden: {hidden}; `dial2vec curate {quote(str(folder))} list` names them.")
    if like := next((cluster.typical[0] for cluster in clusters.shown if cluster.typical), None):
        click.echo(f"Next: dial2vec search {quote(str(folder))} --like {quote(like)}")


def say_changes(collection: CollectionFolder) -> None:
    """Print which topics changed clearly, if there are enough dialogues to compare."""
    from dial2vec.collection.changes.headline import headline
    from dial2vec.collection.changes.periods import TooFewError

    with suppress(TooFewError):
        click.echo("\n".join(headline(collection).lines))


def _table(clusters: Clusters, collection: CollectionFolder) -> str:
    """Return areas and their clusters, largest first, with what is said in a typical and in a borderline dialogue."""
    from dial2vec.collection.clustering.speaking import speaking_turns

    room = width()
    lines = [f"{'id':>4} {'size':>7} {'stable':>6}  name"]
    areas = {area.id: area for area in clusters.areas}
    titled = len(areas) < len(clusters.shown)
    above = None
    for cluster in sorted(clusters.shown, key=lambda cluster: (*_rank(cluster.area, areas), -cluster.size)):
        if titled and cluster.area in areas and cluster.area != above:
            above = cluster.area
            lines.append(f"{'':4} {areas[above].size:>7,} {'':6}  {areas[above].name.upper()}"[:room])
        lines.append(f"{cluster.id:>4} {cluster.size:>7,} {cluster.stability:>6.2f}  {cluster.name}"[:room])
        if len(parts := [topic for topic in clusters.fine if topic.cluster == cluster.id]) > 1:
            fine = " · ".join(f"{topic.name} ({topic.size:,})" for topic in sorted(parts, key=lambda part: -part.size))
            lines.append(f"{'':21}{'fine':<10}  {fitted(fine, room - 34, least=MIN_TEXT)}")
        for title, names in (("typical", cluster.typical), ("borderline", cluster.borderline)):
            for name in names[:1]:
                [dialogue] = collection.dialogues([collection.row(name)])
                spoken = speaking_turns(dialogue, cluster.terms)
                wide = max(MIN_TEXT, room - 36 - len(name))
                text = fitted(" / ".join(dialogue.turns[place].text for place in spoken), wide)
                lines.append(f"{'':21}{title:<10}  {text:<{wide}}  {printable(name)}")
    return "\n".join(lines)


def _rank(area: int, areas: Mapping[int, Area]) -> tuple[int, int]:
    """Return the place of an area in the table: the largest comes first."""
    return (-areas[area].size if area in areas else 0, area)
