"""The groups of a collection by day, week or month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dial2vec.collection.changes.evidence import adjusted, change_words, exact_p, newcombe, wilson
from dial2vec.collection.changes.grouped import Record, nearest_groups
from dial2vec.collection.changes.periods import starts_of
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters, both
from dial2vec.errors import CorpusError

if TYPE_CHECKING:
    import pandas as pd

Period = Literal["day", "week", "month"]


def groups_over_time(
    collection: CollectionFolder, over: Period = "week", *, filters: Filters | None = None
) -> pd.DataFrame:
    """Return the share of every group in every period, and whether it differs from all earlier periods together.

    Each period is compared with all dialogues before it by Fisher's exact test. p-values are adjusted for all groups
    and periods together (Benjamini and Hochberg 1995). Periods are in UTC; weeks begin on Monday. Dialogues without a
    date are left out, and so are periods without dialogues.

    :param filters: conditions; only dialogues that pass are counted.
    :return: one row per group and period, sorted by both: `group` (id), `name`, `period` (first day), `size`, `total`
        (dialogues of the period), `share` with its 95 % interval `low` and `high`; `before` (share in all earlier
        periods), `difference` with its interval `difference_low` and `difference_high`, `p`, `p_adjusted`, all NaN in
        the first period; and `change`: "grew", "shrank", "new", "gone", or "" without a clear change.
    :raises ArtifactError: if the collection has no clusters, or damaged ones.
    :raises CorpusError: if `over` is no period, no dialogue has a date, or a filter is invalid or names something
        unknown.
    """
    import pandas as pd

    return pd.DataFrame(shares_over_time(collection, over, filters=filters))


def shares_over_time(
    collection: CollectionFolder, over: Period = "week", *, filters: Filters | None = None
) -> list[Record]:
    """Return the rows of `groups_over_time`; the period is a `datetime`."""
    if over not in get_args(Period):
        raise CorpusError(f"found periods of {over!r}; expected day, week or month. Name one of these.")
    grouped, times = nearest_groups(collection), collection.times
    rows = both(np.flatnonzero(~np.isnat(times)), filters.rows(collection) if filters else None)
    if rows is None or np.isnat(times).all():
        raise CorpusError(
            f"no dialogue of {collection.folder} has a date; expected an ISO date in the field date of some. Import "
            "them with their dates."
        )
    starts, periods = np.unique(starts_of(times[rows], over[0].upper()), return_inverse=True)
    k, n = len(grouped.ids), len(starts)
    sizes = np.zeros((k, n), dtype=np.int64)
    np.add.at(sizes, (grouped.groups[rows], periods), 1)
    totals = np.broadcast_to(sizes.sum(axis=0), (k, n))
    low, high = wilson(sizes, totals)
    earlier, n_earlier = sizes.cumsum(axis=1) - sizes, totals.cumsum(axis=1) - totals
    before, difference_low, difference_high, p, p_adjusted = np.full((5, k, n), np.nan)
    change = np.full((k, n), "", dtype=object)
    if n > 1:
        four = earlier[:, 1:], n_earlier[:, 1:], sizes[:, 1:], totals[:, 1:]
        before[:, 1:] = four[0] / four[1]
        difference_low[:, 1:], difference_high[:, 1:] = newcombe(*four)
        p[:, 1:] = exact_p(*four)
        p_adjusted[:, 1:] = adjusted(p[:, 1:].ravel()).reshape(k, n - 1)
        change[:, 1:] = change_words(*four, p_adjusted[:, 1:])
    share = sizes / totals
    figures = {"size": sizes, "total": totals, "share": share, "low": low, "high": high}
    figures |= {"before": before, "difference": share - before, "difference_low": difference_low}
    figures |= {"difference_high": difference_high, "p": p, "p_adjusted": p_adjusted, "change": change}
    table = {
        "group": np.repeat(grouped.ids, n).tolist(),
        "name": np.repeat(np.array(grouped.names, dtype=object), n).tolist(),
        "period": np.tile(starts.astype("datetime64[s]"), k).tolist(),
    } | {name: values.ravel().tolist() for name, values in figures.items()}
    records = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    return sorted(grouped.without_hidden(records), key=lambda row: (row["group"], row["period"]))
