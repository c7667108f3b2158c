from __future__ import annotations

import io

from PIL import Image

from dial2vec_papers.tables.charts import draw_methods, draw_results

RESULTS = """model,corpus,metric,mean,sd,seeds,published,low,high,ceiling,view,runs
start,calls,map,50.0,,1,,48.0,52.0,,both,x
paper,calls,map,60.0,,1,55.0,58.0,62.0,,both,x
window_2,calls,map,61.0,,1,,58.0,62.0,,both,x
BERT,calls,map,,,,30.0,,,,both,
start,calls,map,10.0,,1,,9.0,11.0,,first,x
"""
METHODS = """model,corpus,task,data,kind,metric,mean,sd,seeds
start,calls,robustness,calls,of 51,clean_recall_at_1,30.0,,1
start,calls,robustness,calls,of 51,typos_recall_at_1,28.0,,1
dse,calls,robustness,calls,of 51,clean_recall_at_1,31.0,0.1,3
dse,calls,robustness,calls,of 51,typos_recall_at_1,29.0,0.1,3
"""


def size(picture: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(picture)).size


def test_systems_are_drawn_and_ablations_are_not(tmp_path):
    draw_results(RESULTS, tmp_path / "all.png")
    without = "\n".join(line for line in RESULTS.splitlines() if not line.startswith(("window_2", "BERT")))
    draw_results(without, tmp_path / "systems.png")
    assert (tmp_path / "all.png").read_bytes() == (tmp_path / "systems.png").read_bytes()
    assert size((tmp_path / "all.png").read_bytes())[0] == 946


def test_methods_are_drawn(tmp_path):
    draw_methods(METHODS, tmp_path / "methods.png")
    assert size((tmp_path / "methods.png").read_bytes()) == (946, 374)


def test_where_there_is_nothing_to_draw_an_older_picture_is_removed(tmp_path):
    for draw, table in ((draw_results, RESULTS), (draw_methods, METHODS)):
        draw(table, tmp_path / "old.png")
        draw(table.splitlines()[0] + "\n", tmp_path / "old.png")
        assert list(tmp_path.iterdir()) == []
