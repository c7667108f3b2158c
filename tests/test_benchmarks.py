from __future__ import annotations

import itertools
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from conversations.dialogue import dialogue_from_record
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu.attention import Dropout
from dial2vec.errors import Dial2vecError
from dial2vec.files import find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import base_size
import bench
import combined
import criteria
import drift
import fuzz_import
import growth
import peers
import recipe
import scaling
import scoring
import shortcut
import speed
import study
import timing
import together


def test_the_shortcut_corpus_styles_the_agent_and_leaves_the_caller_alone():
    dialogue = make_dialogue("d", "agent: w1 w2", "caller: w3", "agent: w4", labels=("cards",))
    record = shortcut.styled(dialogue, random.Random(0))
    first, second, third = (turn["text"] for turn in record["turns"])
    assert second == "w3"
    assert " w1 w2 " in first
    [style] = [name for name, phrases in shortcut.STYLES.items() if any(phrase in first for phrase in phrases)]
    assert any(phrase in third for phrase in shortcut.STYLES[style])
    assert record["labels"] == ["cards"]


def test_the_table_gives_mean_and_spread_over_seeds_and_what_was_chosen():
    cell = {"corpus": "c", "split": "dev", "variant": "default", "size": "200", "spearman": 40.0, "map": 60.0}
    cells = [cell | {"seed": 1, "purity": 70.0, "chosen": "map"}, cell | {"seed": 2, "purity": 72.0, "chosen": "start"}]
    row = recipe.table(cells).splitlines()[-1]
    assert row == "| c, dev | default | 200 | 2 | 71.00 ± 1.41 | 40.00 ± 0.00 | 60.00 ± 0.00 | map (1), start (1) |"


def test_every_variant_of_the_search_names_settings_that_exist():
    settings = load_settings(find_root() / "params.yaml")
    for variant in recipe.VARIANTS:
        reading, training, selection = recipe.VARIANTS[variant]
        ours = recipe.settings_of(settings, variant, seed=1)
        assert {name: getattr(ours.encoder, name) for name in reading} == reading
        assert {name: getattr(ours.train, name) for name in training} == training
        assert (ours.select.selection, ours.seed) == (selection, 1)


def test_maps_of_the_study_reach_from_gentle_to_ruinous():
    vectors = np.random.default_rng(0).normal(size=(900, 24)).astype(np.float32)
    units, mean = criteria.centred(vectors)
    runs = {run for run, _, _ in criteria.neighbour_maps(units, mean)}
    assert runs == {"map, more neighbours", "map, held back", "map, over and over", "map to strangers"}
    for _, _, mapped in criteria.neighbour_maps(units, mean):
        assert np.linalg.norm(mapped(vectors[:3]), axis=1) == pytest.approx(1, abs=1e-5)


def test_a_row_of_the_study_names_correlation_choice_and_regret():
    ours = [
        {"run": "start", "checkpoint": "start", "purity": 50.0, "spearman": 30.0, "map": 40.0},
        {"run": "map", "checkpoint": "k 8", "purity": 60.0, "spearman": 35.0, "map": 45.0},
        {"run": "map", "checkpoint": "k 800", "purity": 40.0, "spearman": 20.0, "map": 35.0},
    ]
    row = criteria.line("silhouette", [0.1, 0.2, 0.0], 1, ours)
    assert row == "| silhouette | 1.00 / 1.00 / 1.00 | map, k 8 | 45.0 | 0.0 | +10.0 / +5.0 / +5.0 |\n"


def many_dialogues(n=24):
    return [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(i + t) % 40} w{i % 7}" for t in range(6 + i % 3)))
        for i in range(n)
    ]


def combined_set(tiny_folder, way, *, n=24):
    dialogues = many_dialogues(n)
    encoder = combined.DialogueEncoder.from_pretrained(tiny_folder)
    samples = combined.draw_samples(
        dialogues, negatives=3 + way.positives, passes=1, keep_role="random", min_turns=5, seed=1
    )
    targets = encoder.encode(dialogues)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    order = np.array([[0, place] for place in range(8)])
    return dialogues, encoder, samples, combined.BothLosses(dialogues, samples, encoder.tokens, order, targets, way)


def test_a_side_comes_from_one_other_dialogue_and_that_of_a_second_positive_from_a_neighbour(tiny_folder):
    way = combined.Way(0, 1, strangers=True, positives=True)
    dialogues, _, samples, data = combined_set(tiny_folder, way)
    fitted = combined.Fitted(None, {}, data.targets)
    swapped = combined.with_sides(samples, dialogues, fitted, way, seed=1)
    owner = np.repeat(np.arange(len(dialogues)), [len(one.turns) for one in dialogues])
    roles = np.concatenate([one.roles for one in dialogues])
    ranks = np.argsort(np.argsort(-data.targets @ data.targets.T, axis=1), axis=1)
    for item in range(len(dialogues)):
        columns = np.arange(samples.first_turn[item], samples.first_turn[item + 1])
        for number in range(4):
            turns = swapped.negatives[0, number, columns]
            kept = roles[columns] == samples.kept[0, number, item]
            assert (turns[kept] == columns[kept]).all()
            [giver] = np.unique(owner[turns[~kept]])
            assert (1 <= ranks[item, giver] <= 5) if number == 0 else ranks[item, giver] >= 12
            assert (roles[turns[~kept]] == roles[columns[~kept]]).all()


def test_the_two_losses_are_added_by_their_weights(tiny_folder):
    ways = [combined.Way(1, 0), combined.Way(0, 1), combined.Way(2, 0.5)]
    losses = []
    for way in ways:
        _, encoder, _, data = combined_set(tiny_folder, way)
        padded = data.collate([data[item] for item in range(4)])
        batch = combined.Batch(*(padded[name].flatten(0, 1) for name in combined.Batch.__slots__))
        losses.append(data.loss(encoder, combined.Train(), batch, {"targets": padded["targets"]}).item())
    assert losses[2] == pytest.approx(2 * losses[0] + 0.5 * losses[1], abs=1e-5)
    # Targets are the dialogues' own vectors here.
    assert losses[0] == pytest.approx(0, abs=1e-5)
    assert losses[1] > 0.1


def test_the_ways_stand_in_rows_and_the_corpora_in_columns():
    row = {"corpus": "a", "way": "start", "purity": 1.0, "spearman": 2.0, "map": 3.0}
    found = study.table_of_ways([row, row | {"corpus": "b", "way": "dial2vec"}]).splitlines()
    assert found[2:] == ["| start | 1.00 / 2.00 / 3.00 | – |", "| dial2vec | – | 1.00 / 2.00 / 3.00 |"]


def test_a_row_of_methods_together_is_known_by_settings_splits_and_code_too(tmp_path, monkeypatch):
    settings, artifacts = load_settings(find_root() / "params.yaml"), Artifacts(tmp_path, "calls")
    artifacts.splits.mkdir(parents=True)
    for split in ("train", "dev"):
        artifacts.split(split).write_text(split)
    first = together.made_by(artifacts, settings)
    assert first == together.made_by(artifacts, settings)
    assert first != together.made_by(artifacts, replace(settings, dse=replace(settings.dse, temperature=0.9)))
    artifacts.split("dev").write_text("other")
    second = together.made_by(artifacts, settings)
    monkeypatch.setattr(together, "code_hash", lambda: "other")
    assert len({first, second, together.made_by(artifacts, settings)}) == 3


def test_methods_together_have_mean_and_spread_over_seeds_of_their_last_rows():
    row = {"corpus": "a", "way": "start", "seed": 1, "purity": 70.0, "spearman": 2.0, "map": 3.0}
    found = [row | {"purity": 1.0}, row, row | {"seed": 2, "purity": 72.0}]
    assert (
        study.table_of_ways(found).splitlines()[2] == "| start | 71.00 ± 1.41 / 2.00 ± 0.00 / 3.00 ± 0.00 (2 seeds) |"
    )


def test_the_peak_memory_of_a_row_is_its_own():
    held = np.ones(1 << 27, dtype=np.uint8)
    here = base_size.peak_memory()
    assert here > held.nbytes
    assert here - base_size.alone(base_size.peak_memory) > held.nbytes / 2


def test_the_importer_meets_broken_files_with_no_error_but_ours():
    done = CliRunner().invoke(fuzz_import.main, ["--cases", "60", "--seed", "7"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("60 cases, 0 failures: ")


def test_made_up_dialogues_are_dialogues_and_one_in_ten_copies_the_one_before():
    found = [dialogue_from_record(json.loads(line)) for line in growth.made_up(2000, 40).splitlines()]
    assert [dialogue.dialogue_id for dialogue in found][::39] == ["call-00002000", "call-00002039"]
    pairs = [one.turns[:-1] == other.turns[:-1] for one, other in itertools.pairwise(found)]
    assert [place for place, equal in enumerate(pairs) if equal] == [0, 10, 20, 30]


def test_growth_is_the_time_per_dialogue_of_the_largest_over_the_smallest():
    measured = {100: {"read": (1.0, 50.0)}, 1000: {"read": (11.0, 80.0)}}
    assert growth.growth(measured) == "1,000 against 100: 1.10 times as long per dialogue; peak 80 MiB\n"


@pytest.mark.parametrize("name", scoring.FAST)
def test_the_plain_figures_beside_which_evaluation_is_timed_are_the_same(name, monkeypatch):
    monkeypatch.setattr(scoring, "RUNS", 2)
    vectors, labels = scoring.made_up(800)
    fast, plain = (ways[name](vectors, labels) for ways in (scoring.FAST, scoring.PLAIN))
    assert fast == pytest.approx(plain, abs=1e-9)


def test_seconds_of_evaluation_are_medians_and_other_figures_end_the_benchmark():
    fast = [{"plain": False, "figures": {"map": 0.5}, "seconds": s, "peak": 10.0 * s} for s in (1.0, 9.0, 2.0)]
    plain = [one | {"plain": True, "seconds": 3 * one["seconds"]} for one in fast]
    assert scoring.line(1000, "map", fast + plain) == "| 1,000 | map | 2.00 | 6.00 | 3.0 | 90 |\n"
    assert scoring.line(1000, "map", fast) == "| 1,000 | map | 2.00 |  |  | 90 |\n"
    plain[1]["figures"] = {"map": 0.4}
    with pytest.raises(SystemExit, match=r"map of 1000 dialogues: map is 0\.4 and 0\.5"):
        scoring.line(1000, "map", fast + plain)


def test_the_loss_that_training_is_timed_beside_is_ours(tiny_folder, monkeypatch):
    monkeypatch.setattr(speed, "WIDTH", 60)
    monkeypatch.setattr(speed, "COPIES", 2)
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input="separators")
    talks = [make_dialogue("d", "a: w1 w2", "b: w3", "a: w4"), make_dialogue("e", "a: w5", "b: w6 w7 w8", "a: w9")]
    batch = encoder.tokens.pad(encoder.tokens.dialogues([*talks, *talks[::-1]]))
    ours, published = (float(loss(encoder, batch).detach()) for loss in (speed.our_loss, speed.published_loss))
    assert ours == pytest.approx(published, abs=1e-4)


def test_operations_count_what_is_read_and_what_is_trained(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    depth, width = len(encoder.backbone.encoder.layer), encoder.dimension
    hidden = encoder.backbone.config.intermediate_size
    forward = depth * (2 * (4 * width**2 + 2 * width * hidden) * 7 + 4 * width * 7**2)
    assert speed.operations(encoder, [7]) == forward
    assert speed.operations(encoder, [7, 7], trained=0.5) == 4 * forward


def test_what_is_timed_takes_turns_and_is_run_once_before_without_counting(monkeypatch):
    ran, now = [], iter(range(100))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: float(next(now)))
    works = {"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}
    assert timing.seconds(works, repeats=2) == {"a": 1.0, "b": 1.0}
    assert ran == ["a", "a", "b", "b"] * 2


def test_figures_of_timed_works_are_medians_of_ratios_turn_by_turn():
    assert str(timing.ratio([9.0, 4.0, 6.0], [3.0, 2.0, 1.0])) == "3 (2 to 6)"
    assert str(timing.ratio([8.0], [2.0], times=0.5)) == "2"
    assert timing.rate(10, [2.0, 5.0, 4.0]) == timing.Figure(2.5, 2.0, 5.0)
    operations = timing.PRODUCTS * 2 * timing.SIZE**3
    assert timing.peak_fraction(operations / 2, [1.0], [1.0]).median == 0.5


@pytest.fixture
def small(tiny_folder, monkeypatch):
    """A tiny encoder, and matrices and dialogues that are small enough for it."""
    monkeypatch.setattr(timing, "SIZE", 8)
    monkeypatch.setattr(speed, "WIDTH", 64)
    monkeypatch.setattr(speed, "of_library", lambda name, dialogues, kind, ends: {})
    said = ["a: w1 w2", "b: w3 w4", "a: w5", "b: w6", "a: w7", "b: w8"]
    talks = [make_dialogue(f"d{n}", *said[n % 3 :], "b: w9", "a: w2") for n in range(30)]
    return DialogueEncoder.from_pretrained(tiny_folder, input="separators"), talks


@pytest.mark.parametrize("ends", [[""], ["", "_bf16"]])
def test_speed_gives_every_figure_that_the_device_has(small, monkeypatch, ends):
    encoder, talks = small
    monkeypatch.setattr(speed, "kinds", lambda device: {("bf16" if end else "fp32"): end for end in ends})
    monkeypatch.setattr("dial2vec.encoder.network.has_bf16", lambda device: len(ends) > 1)
    trained = speed.training(encoder, talks, n=2, repeats=1)
    encoded = speed.encoding(encoder, "tiny", talks, repeats=1)
    for end in ends:
        assert {f"train_vs_published{end}", f"recipe_vs_published{end}", f"train_peak_fraction{end}"} <= set(trained)
        assert {f"encode_dialogues_per_second{end}", f"evaluate_vs_published{end}"} <= set(encoded)
    assert ("train_bf16_vs_published_bf16" in trained) == ("encode_bf16_lowest_cosine" in encoded) == (len(ends) > 1)
    assert all(figure.median >= 0 for figure in (trained | encoded).values())


def test_the_published_way_attends_and_drops_as_torch_does(small):
    encoder, _ = small
    attending = encoder.backbone.config._attn_implementation
    with peers.torchs_own(encoder):
        assert encoder.backbone.config._attn_implementation == "sdpa"
        assert not any(type(module) is Dropout for module in encoder.modules())
    assert encoder.backbone.config._attn_implementation == attending
    assert any(type(module) is Dropout for module in encoder.modules())


def test_the_library_is_compared_at_each_setting_with_its_fastest_batch_size():
    found = {"library": [3.0], "library 4": [2.0], "library_bf16 4": [1.0], "library_bf16 openvino 8": [0.5]}
    found |= {"library 8": [4.0], "library_bf16 openvino 4": [0.7]}
    assert speed.settings(list(found), found) == [
        ("library", "library 4"),
        ("library_bf16", "library_bf16 4"),
        ("library_bf16_openvino", "library_bf16 openvino 8"),
    ]
    figures = speed.encoding_figures(found | {"ours": [1.0], "published": [9.0], "product": [1.0]}, 10, 1, 1.0, "none")
    assert figures["encode_vs_library_best"].median == 2.0
    assert "library_bf16_dialogues_per_second" not in figures


def test_a_model_that_another_program_computes_gives_its_states_to_the_library(small):
    encoder, _ = small
    shapes = []

    def compute(*given):
        shapes.append([part.shape for part in given])
        return np.full((*given[0].shape, 3), 2.0, dtype=np.float32)

    ids = torch.ones(2, 5, dtype=torch.int64)
    states = peers.Elsewhere(encoder.backbone, compute)(input_ids=ids, attention_mask=ids, token_type_ids=ids)
    assert torch.equal(states.last_hidden_state, torch.full((2, 5, 3), 2.0))
    assert shapes == [[(2, 5)] * 3]
    expected = encoder.backbone.eval()(input_ids=ids, attention_mask=ids, token_type_ids=ids).last_hidden_state
    assert torch.equal(peers.Ordered(encoder.backbone)(ids, ids, ids), expected)


def test_a_kernel_that_does_not_run_is_named_and_left_out(small, monkeypatch, capsys):
    encoder, talks = small
    monkeypatch.setattr(speed, "KERNELS", ("eager", "nonsense"))
    assert set(speed.kernels(encoder, talks, repeats=1)) == {"eager_to_sdpa"}
    assert "nonsense does not run here" in capsys.readouterr().out


def test_a_table_takes_the_place_of_the_one_before_and_says_what_made_it(tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text("# Speed\n\n<!-- speed -->\nold\n<!-- end of speed -->\n\nWhat it means.\n")
    text = bench.section(["speed.py", "--repeats", "3"], "| a |\n|---|\n| 1 |\n", "a machine")
    for _ in range(2):
        bench.put(page, "speed", text)
    assert page.read_text() == f"# Speed\n\n<!-- speed -->\n\n{text}\n<!-- end of speed -->\n\nWhat it means.\n"
    assert re.fullmatch(
        r"`benchmarks/speed.py --repeats 3`, 20\d\d-..-..:\n\na machine\n\n\| a \|\n.*\| 1 \|\n", text, re.S
    )
    assert "a machine, 2 runs" in bench.section(["x.py"], "a machine, 2 runs\n", "a machine")
    assert bench.section(["x.py"], "a machine, 2 runs\n", "a machine").count("a machine") == 1
    with pytest.raises(Dial2vecError, match="has no place for data; expected the lines <!-- data -->"):
        bench.put(page, "data", text)


def test_a_benchmark_that_fails_leaves_the_page_as_it_was(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "x.py").write_text("print('so far')\nraise SystemExit(3)\n")
    with pytest.raises(SystemExit, match=r"so far\nbenchmarks/x\.py ended with status 3"):
        bench.printed(tmp_path, ["x.py"])


def test_the_page_has_a_place_for_every_table():
    page = (Path(bench.__file__).parents[1] / "docs" / "benchmarks.md").read_text()
    assert all(f"<!-- {name} -->\n" in page and f"<!-- end of {name} -->\n" in page for name in bench.COMMANDS)
    assert all((Path(bench.__file__).parent / command[0]).is_file() for command in bench.COMMANDS.values())


def test_both_ways_whose_growth_is_drawn_compute_the_same_loss():
    hidden = scaling.torch.randn(scaling.COPIES, 70, 8)
    given = (hidden, *scaling.samples(70, copies=scaling.COPIES))
    assert float(scaling.ours(*given)) == pytest.approx(float(scaling.matchings(*given)), rel=1e-4)


def test_growth_is_measured_at_every_size_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "LONGEST_PLAIN", 32)
    monkeypatch.setattr(scaling, "TOKENS", 20)
    rows = [
        *scaling.lengths((32, 64), repeats=1),
        *scaling.negatives((1, 2), repeats=1),
        *scaling.encoders(((1, 32), (2, 64)), repeats=1),
    ]
    assert [(row.question, row.way, row.size) for row in rows[:5]] == [
        ("length", "ours", 32.0),
        ("length", "published", 32.0),
        ("length", "ours", 64.0),
        ("negatives", "ours", 2.0),
        ("negatives", "ours", 3.0),
    ]
    per_token = 24 * 32**2 + 4 * 32 * 20
    assert rows[5].size == pytest.approx(scaling.DIALOGUES * 20 * per_token / 1e9)
    assert all(row.seconds > 0 for row in rows)
    scaling.draw(rows, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").read_bytes()[1:4] == b"PNG"
    assert scaling.line(scaling.Row("length", 128.0, "ours", 0.256)) == "| length | 128 | ours | 0.256 | 2.00e-03 |\n"


def test_a_trial_of_drift_draws_nobody_twice_and_a_new_label_is_new():
    labels = [("bank", "hotel") if place % 4 == 0 else ("hotel",) for place in range(1500)]
    pool = drift.Pool(np.zeros((1600, 1600)), labels)
    for draws in (drift.another_corpus, drift.new_label):
        old, new = draws(pool, 300, 60)(np.random.default_rng(0))
        assert (len(old), len(new), len({*old, *new})) == (500, 300, 800)
        strange = [place >= 1500 or "bank" in labels[place] for place in new]
        if draws is drift.new_label:
            assert not any("bank" in labels[place] for place in old)
            assert sum(strange) == 60
        else:
            assert sum(place >= 1500 for place in new) == 60


def test_alarms_of_drift_are_counted_by_what_raised_them():
    points = np.random.default_rng(0).normal(size=(1200, 8))
    points[:1100, 0] += 40
    points[1100:, 1] += 40
    between = drift.distances(points[:1100], points[1100:])
    pool = drift.Pool(between, [()] * 1100)
    row = drift.line("other", 0.2, [drift.another_corpus(pool, 100, 20)], pool, drift.Drift(), 2)
    assert row == "| other | 20 % | 2 of 2 (2, 2) |\n"
