"""Import of exports into the project's JSON Lines: file -> text -> rows or records -> dialogues -> `data/<name>/`."""

from __future__ import annotations

FORMATS = {
    "csv": "one row per turn, or per dialogue; delimited by commas, semicolons, tabs or pipes",
    "tsv": "the same, delimited by tabs",
    "json": "a list of objects, or an object that holds one",
    "jsonl": "one JSON object per line",
    "parquet": "a table",
    "rows": "a line per column of each row, as databases print them",
    "log": "named values in each line, as in `role=user msg=Hello`",
    "text": "`Speaker: text` lines",
    "vtt": "WebVTT captions that name their speakers",
    "srt": "SRT captions that name their speakers",
}
