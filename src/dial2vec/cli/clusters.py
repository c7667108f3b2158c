"""The command that clusters a collection."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

import click

from dial2vec.cli.group import examples
from dial2vec.data.words import printable
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.clustering import Clusters
    from dial2vec.collection.collection_folder import CollectionFolder

# Minimum width of a dialogue's text, in characters, on narrow terminals too.
MIN_TEXT = 60


@click.command(epilog=examples("dial2vec cluster calls", "dial2vec cluster calls --k 15 --json"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of clusters; default: the most stable number.")
@click.option("--by", type=click.Choice(["k", "density"]), help="Method; density finds the number itself; default: k.")
@click.option(
    "--anew",
    "from_scratch",
    is_flag=True,
    help="Cluster everything from scratch; clusters that stay together keep their ids.",
)
@click.option("--seed", default=1, show_default=True, help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def cluster(
    folder: Path, k: int | None, by: Literal["k", "density"] | None, from_scratch: bool, seed: int, as_json: bool
) -> None:
    """Group the dialogues of a collection, and name the groups.

    If FOLDER was clustered before, new dialogues join the existing clusters. Writes into FOLDER/clusters:
    assignment.csv, assignment.parquet, and clusters.json with everything known about each cluster.
    """
    if k is not None and by == "density":
        raise Dial2vecError(f"found --k {k} with --by density, which finds the number itself. Leave one of them out.")
    from tqdm.auto import tqdm

    from dial2vec.collection.clustering.clustering import cluster as cluster_collection
    from dial2vec.collection.collection_folder import CollectionFolder

    collection = CollectionFolder(folder)
    with tqdm(unit=" numbers of clusters", disable=None, leave=False) as bar:
        clusters = cluster_collection(collection, k=k, by=by, seed=seed, from_scratch=from_scratch, done=bar.update)
    if as_json:
        click.echo((folder / "clusters" / "clusters.json").read_text(encoding="utf-8").rstrip())
        return
    click.echo(_table(clusters, collection))
    for sentence in clusters.news:
        click.echo(sentence)
    if clusters.considered:
        tried = ", ".join(f"{number}: {agreement:.2f}" for number, agreement in clusters.considered)
        click.echo(f"Agreement of the clusters of random halves, by the number of clusters: {tried}")
    click.echo(f"Cluster of each dialogue: {folder / 'clusters' / 'assignment.csv'}")
    click.echo(f"Next: dial2vec search {quote(str(folder))} --like {quote(clusters.clusters[0].typical[0])}")


def _table(clusters: Clusters, collection: CollectionFolder) -> str:
    """Return the clusters, largest first, each with the beginning of a typical and of a borderline dialogue."""
    width = min(shutil.get_terminal_size().columns, 140)
    lines = [f"{'id':>4} {'size':>7} {'stable':>6}  name"]
    for cluster in sorted(clusters.clusters, key=lambda cluster: -cluster.size):
        lines.append(f"{cluster.id:>4} {cluster.size:>7,} {cluster.stability:>6.2f}  {cluster.name}"[:width])
        for title, names in (("typical", cluster.typical), ("borderline", cluster.borderline)):
            for name in names[:1]:
                [dialogue] = collection.dialogues([collection.row(name)])
                text = printable(" / ".join(turn.text for turn in dialogue.turns[:3]))
                room = max(MIN_TEXT, width - 36 - len(name))
                text = textwrap.shorten(text, room, placeholder=" ...")
                lines.append(f"{'':21}{title:<10}  {text:<{room}}  {printable(name)}")
    return "\n".join(lines)
