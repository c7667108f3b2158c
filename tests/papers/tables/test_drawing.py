from __future__ import annotations

import json
import re
from dataclasses import replace

from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.drawing import curve_data, render_curves, write_drawings
from dial2vec_papers.tables.paper_tables import paper_markdown


def cell(system: str, *, corpus: str = "calls", course: bool = True) -> Cell:
    points = [
        {"step": step, "purity": 50.0, "spearman": 30.0, "map": figure, "uniformity": -1.0, "adjusted_alignment": 0.5}
        for step, figure in ((0.0, 60.0), (10.0, 62.0), (20.0, 59.0))
    ]
    scores = {"purity": 50.0, "spearman": 30.0, "map": 59.0, "spearman_ceiling": 40.0}
    ranges = {"purity": (49.0, 51.0), "spearman": (29.0, 31.0), "map": (58.0, 60.0)}
    return Cell(
        corpus,
        system,
        1,
        "x",
        {"both": scores},
        {"both": ranges},
        by_labels=20,
        label_free=10,
        course=points if course else [],
        run_id="run</script>",
    )


def test_pictures_and_the_page_are_written_for_what_has_a_course(tmp_path):
    assert write_drawings([cell("start", course=False)], tmp_path) == []
    names = [path.name for path in write_drawings([cell("paper"), cell("paper", corpus="more")], tmp_path)]
    assert names == ["alignment-uniformity.png", "course.png", "curves.html", "curves.json"]
    names = [path.name for path in write_drawings([cell("paper"), cell("window_2")], tmp_path)]
    assert names == ["alignment-uniformity.png", "course.png", "ablations.png", "curves.html", "curves.json"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names[:3])
    assert write_drawings([], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_without_labels_on_dev_nothing_is_chosen_by_them(tmp_path):
    unlabelled = replace(cell("paper"), by_labels=None)
    assert len(write_drawings([unlabelled], tmp_path)) == 4
    assert "59.00, step 20 |  | 50.00 / 30.00 / 62.00, step 10 |" in paper_markdown([unlabelled])
    assert "□ by labels" not in render_curves(curve_data([unlabelled]))


def test_the_page_holds_its_data_and_asks_for_nothing_from_a_network():
    page = render_curves(curve_data([cell("paper"), cell("window_2")]))
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [one["title"] for one in data["courses"]] == ["dial2vec, 200 dialogues of the paper's recipe", "window 2"]
    assert data["courses"][0]["points"][1] == [10, 50, 30, 62, -1, 0.5]
    assert data["courses"][0]["chosen"] == [20, 10]
    assert not re.findall(r"(?:src|href)=|https?://(?!www\.w3\.org)", page)
    assert "20 □ by labels" in page


def test_the_tables_say_what_every_choice_of_the_checkpoint_gives_and_what_ablations_change():
    page = paper_markdown([cell("paper"), cell("window_2"), cell("start_separators", course=False)])
    assert (
        "| calls | dial2vec, 200 dialogues of the paper's recipe | 1 | 50.00 / 30.00 / 60.00, step 0 | "
        "50.00 / 30.00 / 62.00, step 10 | 50.00 / 30.00 / 59.00, step 20 | "
        "50.00 / 30.00 / 59.00, step 20 | 50.00 / 30.00 / 62.00, step 10 |"
    ) in page
    changed = page.partition("## Ablations, calls")[2]
    assert [line.split(" |")[0] for line in changed.splitlines() if line.startswith("| ")] == [
        "| changed",
        "| start, with separators",
        "| dial2vec, 200 dialogues of the paper's recipe",
        "| window 2",
    ]
    assert "window 2" not in page.partition("## Which checkpoint")[0]


def test_ablations_of_dialoguecse_have_a_table_and_panels_of_their_own(tmp_path):
    cells = [cell(system) for system in ("paper", "window_2", "dialoguecse", "dialoguecse_negatives_4")]
    changed = paper_markdown(cells).partition("## Ablations of DialogueCSE, calls")[2]
    assert [line.split(" |")[0] for line in changed.splitlines() if line.startswith("| ")] == [
        *("| changed", "| DialogueCSE", "| DialogueCSE, negatives 4")
    ]
    assert "ablations.png" in [path.name for path in write_drawings(cells, tmp_path)]
