"""The command that says what a collection is about."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dial2vec.cli.group import examples
from dial2vec.data.words import printable
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection import Collection
    from dial2vec.collection.clustering import Clusters

# Characters of a dialogue that are shown however narrow the terminal and long its name.
LEAST_SAID = 60


@click.command(epilog=examples("dial2vec cluster calls", "dial2vec cluster calls --k 15 --json"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of clusters; default: the one that is most stable.")
@click.option("--by", type=click.Choice(["k", "density"]), help="density finds the number itself; default: k.")
@click.option("--anew", is_flag=True, help="Cluster all from scratch; ids stay with what stays together.")
@click.option("--seed", default=1, show_default=True, help="Of every draw.")
@click.option("--json", "as_json", is_flag=True, help="Print a record instead of a table.")
def cluster(
    folder: Path, k: int | None, by: Literal["k", "density"] | None, anew: bool, seed: int, as_json: bool
) -> None:
    """Group the dialogues of a collection, and name the groups.

    Where it was clustered before, new dialogues go to the clusters that are there. Who belongs where is in
    FOLDER/clusters: assignment.csv, assignment.parquet, and clusters.json with all that is told of each cluster.
    """
    if k is not None and by == "density":
        raise Dial2vecError(f"found --k {k} with --by density, which finds the number itself. Leave one of them out.")
    from tqdm.auto import tqdm

    from dial2vec.collection import Collection
    from dial2vec.collection.clustering.clustering import cluster as cluster_collection

    collection = Collection(folder)
    with tqdm(unit=" numbers of clusters", disable=None, leave=False) as bar:
        found = cluster_collection(collection, k=k, by=by, seed=seed, anew=anew, done=bar.update)
    if as_json:
        click.echo((folder / "clusters" / "clusters.json").read_text(encoding="utf-8").rstrip())
        return
    click.echo(_table(found, collection))
    for sentence in found.news:
        click.echo(sentence)
    if found.considered:
        tried = ", ".join(f"{number}: {agreement:.2f}" for number, agreement in found.considered)
        click.echo(f"Agreement of the clusters of random halves, by their number: {tried}")
    click.echo(f"Who belongs where: {folder / 'clusters' / 'assignment.csv'}")
    click.echo(f"Next: dial2vec search {folder} --like {json.dumps(found.clusters[0].typical[0])}")


def _table(found: Clusters, collection: Collection) -> str:
    """Return the clusters, the largest first, with how a typical dialogue begins, and one that is nearly another's."""
    width = min(shutil.get_terminal_size().columns, 140)
    lines = [f"{'id':>4} {'size':>7} {'stable':>6}  name"]
    for one in sorted(found.clusters, key=lambda cluster: -cluster.size):
        lines.append(f"{one.id:>4} {one.size:>7,} {one.stability:>6.2f}  {one.name}"[:width])
        for title, names in (("typical", one.typical), ("borderline", one.borderline)):
            for name in names[:1]:
                [dialogue] = collection.dialogues([collection.row(name)])
                said = printable(" / ".join(turn.text for turn in dialogue.turns[:3]))
                room = max(LEAST_SAID, width - 36 - len(name))
                said = textwrap.shorten(said, room, placeholder=" ...")
                lines.append(f"{'':21}{title:<10}  {said:<{room}}  {printable(name)}")
    return "\n".join(lines)
