"""The stages one after the other on a small corpus of own transcripts, with the tiny encoder."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from conversations.dialogue import read_dialogues, write_dialogues
from conversations.files import read_json
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.collection.embedding.embed import embed_file
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError, ValidationError
from dial2vec.evaluation import NO_LABELS
from dial2vec.evaluation.measure import measure
from dial2vec.files import checkout_lock
from dial2vec.params import load_settings, settings_from_dict
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.sample import sample
from dial2vec.pipeline.select import draw_dialogues, select
from dial2vec.pipeline.train import train_encoder
from dial2vec.pipeline.validate import validate
from dial2vec.training.candidates import apply_candidate, read_candidates
from dial2vec.training.negatives import Samples
from tests.pipeline.projects import READY, TO_THE_FIGURES, change, run


def said_by(project):
    return read_json(project / "said.json")


def test_stages_lead_from_raw_files_to_metrics_and_a_report(small_once):
    artifacts, said = Artifacts(small_once, "calls"), said_by(small_once)
    assert said[0].startswith("120 dialogues, 600 turns, 18 expectations checked, 1 quarantined")
    sizes = {name: len(list(read_dialogues(artifacts.split(name)))) for name in ("train", "dev", "test")}
    metrics = read_json(artifacts.metrics)
    assert list(metrics) == ["corpus", "split_sizes", "start", "trained", "student"]
    assert metrics["split_sizes"] == sizes
    assert sum(sizes.values()) == 120
    keys = "purity purity_sd spearman spearman_ceiling map mrr ari nmi accuracy alignment adjusted_alignment uniformity"
    for which in ("start", "trained"):
        assert sorted(metrics[which]) == sorted(keys.split())
    assert metrics["start"] != metrics["trained"]
    assert metrics["student"] is None
    assert set(read_json(artifacts.dev_metrics)) == {"dev_hash", "start", "trained", "student"}
    assert len(Samples.load(artifacts.samples).dialogues) == sizes["train"]
    page = artifacts.report.read_text()
    assert '<p class="headline">' in page
    assert "coloured by label" in page
    assert artifacts.loss_curve.read_text().splitlines()[0] == "step,loss,learning_rate,grad_norm"
    assert not artifacts.checkpoints.exists()
    assert said[3] == "3 candidates; 5 steps over 10 dialogues"
    assert said[4] == "The checkpoint of step 5 was chosen: it is the last candidate, and none was compared."


def test_by_default_the_start_its_maps_and_every_checkpoint_are_candidates(large_once):
    artifacts, said = Artifacts(large_once, "calls"), said_by(large_once)
    assert said[3] == "9 candidates; 10 steps over 40 dialogues"
    selection = read_json(artifacts.selection)
    assert list(selection) == ["rule", "chosen", "sentence", "criteria", "candidates"]
    assert (selection["rule"], selection["sentence"]) == ("label_free", said[4])
    names = [entry["name"] for entry in selection["candidates"]]
    assert names == [
        *("start", "cautious head", "head"),
        *(f"checkpoint of step {step}" for step in (3, 6, 9, 10)),
        *("cautious head of step 10", "head of step 10"),
    ]
    assert selection["chosen"] in names
    for entry in selection["candidates"]:
        assert set(entry["criteria"]) == set(entry["ahead"]) == set(selection["criteria"])
        assert set(entry["dev"]) == {"purity", "spearman", "map"}
        assert entry["uniformity"] <= 0
        # The paper's figure 3: below 0 if dialogues of one label are nearer to each other than to the others.
        assert -4 <= entry["adjusted_alignment"] <= 4
    assert [entry["verdict"] for entry in selection["candidates"]].count("chosen") == 1
    assert read_json(artifacts.training)["note"] == ""
    page = artifacts.report.read_text()
    assert '<p class="headline">' in page
    assert "coloured by label" in page


@pytest.mark.parametrize("selection", ["label_free", "dev_purity", "last"])
def test_the_model_is_the_candidate_that_was_chosen(large_run, selection):
    change(large_run, "select", selection=selection)
    artifacts, _ = run(large_run, select)
    chosen = read_json(artifacts.selection)["chosen"]
    candidate = next(one for one in read_candidates(artifacts.candidates) if one.name == chosen)
    encoder = DialogueEncoder.from_pretrained(load_settings(large_run / "params.yaml").encoder.name)
    expected = apply_candidate(encoder, candidate, artifacts.candidates)
    dev = list(read_dialogues(artifacts.split("dev")))
    found = DialogueEncoder.from_pretrained(artifacts.model)
    np.testing.assert_allclose(found.encode(dev), expected.encode(dev), atol=1e-6)
    assert (selection == "last") <= (chosen == "head of step 10")


def test_the_best_purity_on_dev_is_chosen_where_the_settings_say_so(large_run):
    change(large_run, "select", selection="dev_purity")
    artifacts, _ = run(large_run, select)
    selection = read_json(artifacts.selection)
    purities = {entry["name"]: entry["dev"]["purity"] for entry in selection["candidates"]}
    assert purities[selection["chosen"]] == max(purities.values())


def test_the_figures_of_a_candidate_in_the_choice_are_those_that_its_vectors_have(large_once):
    artifacts = Artifacts(large_once, "calls")
    dev = list(read_dialogues(artifacts.split("dev")))
    entries = read_json(artifacts.selection)["candidates"]
    for place in (0, 2, 6, 8):
        encoder = DialogueEncoder.from_pretrained(load_settings(large_once / "params.yaml").encoder.name)
        encoder = apply_candidate(encoder, read_candidates(artifacts.candidates)[place], artifacts.candidates)
        found = measure(encoder, dev, runs=2, seed=42, batch_size=8, progress=False).scores
        # What is shown beside the choice may be computed in bf16.
        assert entries[place]["dev"]["map"] == pytest.approx(found["map"], abs=3)
        assert entries[place]["adjusted_alignment"] == pytest.approx(found["adjusted_alignment"], abs=0.02)


def test_too_few_training_dialogues_leave_the_start_with_the_reason_everywhere(project):
    change(project, "train", method="neighbours")
    artifacts, said = run(project, *TO_THE_FIGURES)
    reason = (
        "The base encoder was kept: learning from neighbours needs at least 100 training dialogues with two speakers "
        "and sample.min_turns turns, and there are 74."
    )
    assert said[3] == said[4] == read_json(artifacts.selection)["sentence"] == reason
    metrics = read_json(artifacts.metrics)
    assert metrics["start"] == metrics["trained"]
    assert artifacts.loss_curve.read_text() == "step,loss,learning_rate,grad_norm\n"
    page = artifacts.report.read_text()
    assert '<p class="headline">' in page
    assert "coloured by label" in page


def test_too_few_dev_dialogues_leave_the_start_unless_labels_may_choose(small_run):
    change(small_run, "select", selection="label_free")
    _, said = run(small_run, select)
    assert said[-1] == (
        "The base encoder was kept: choosing without labels needs at least 40 dev dialogues with two speakers, and "
        "there are 19. Bring more dialogues, or raise prepare.dev_share if the corpus has no splits of its own."
    )


def test_the_criteria_look_at_a_lot_of_the_dev_dialogues_with_two_sides(dialogue):
    dev = [dialogue(f"d{i}", "a: w1", "b: w2") for i in range(60)] + [dialogue("alone", "a: w1")]
    settings = settings_from_dict({"select": {"max_dialogues": 40}})
    drawn = [one.dialogue_id for one in draw_dialogues(dev, settings)]
    assert len(drawn) == 40
    assert drawn == sorted(drawn, key=lambda name: int(name[1:]))
    assert drawn == [one.dialogue_id for one in draw_dialogues(dev, settings)]
    assert [one.dialogue_id for one in draw_dialogues(dev, settings_from_dict({}))] == [f"d{i}" for i in range(60)]


def test_a_second_training_of_the_same_data_ends_with_the_same_candidates(large_run):
    artifacts = Artifacts(large_run, "calls")
    weights = {path.name: path.read_bytes() for path in artifacts.candidates.glob("*.safetensors")}
    kept = ["00000000.npy", "fingerprint.json"]
    assert sorted(path.name for path in artifacts.vectors.iterdir()) == [*kept, "trained"]
    assert sorted(path.name for path in (artifacts.vectors / "trained").iterdir()) == kept
    assert run(large_run, train_encoder)[1] == [said_by(large_run)[3]]
    assert {path.name: path.read_bytes() for path in artifacts.candidates.glob("*.safetensors")} == weights


def test_negatives_can_come_from_the_same_cluster(large_run):
    artifacts = Artifacts(large_run, "calls")
    anywhere = Samples.load(artifacts.samples).negatives
    change(large_run, "sample", among="cluster")
    _, said = run(large_run, sample)
    assert said[0].startswith("1 x 2 negatives for 194 dialogues")
    assert (Samples.load(artifacts.samples).negatives != anywhere).any()


def test_without_epochs_the_maps_are_the_only_candidates_beside_the_start(large_run):
    change(large_run, "train", epochs=0)
    artifacts, said = run(large_run, train_encoder, select)
    assert said[0] == "3 candidates; 0 steps over 0 dialogues"
    assert [one.name for one in read_candidates(artifacts.candidates)] == ["start", "cautious head", "head"]


def test_metadata_goes_through_validation_and_splits(project):
    path = project / "data" / "calls" / "calls.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()[:120]]
    facts = {f"d{n}": {"channel": "phone", "wait": n} if n % 2 else {} for n in range(120)}
    path.write_text("\n".join(json.dumps(line | {"metadata": facts[line["dialogue_id"]]}) for line in lines))
    artifacts, _ = run(project, validate, prepare)
    splits = [one for name in ("train", "dev", "test") for one in read_dialogues(artifacts.split(name))]
    assert {one.dialogue_id: one.metadata for one in splits} == facts


def test_quarantine_records_are_written_with_line_and_reason(project):
    artifacts, _ = run(project, validate)
    [record] = map(json.loads, artifacts.quarantine.open())
    assert (record["line"], record["source"]) == (121, "data/calls/calls.jsonl")
    assert "not valid JSON" in record["reason"]


def write_meetings(folder, n):
    """Captions of meetings of three people, as a meeting tool exports them: one file each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for number in range(n):
        cues = ["WEBVTT"]
        for cue in range(9):
            words = " ".join(f"w{word}" for word in rng.integers(0, 40, size=4))
            cues.append(f"00:00:{cue:02}.000 --> 00:00:{cue:02}.900\n<v {('Ann', 'Bo', 'Cy')[cue % 3]}>{words}</v>")
        (folder / f"meeting-{number:02}.vtt").write_text("\n\n".join(cues) + "\n")


def test_meetings_of_three_are_imported_trained_embedded_and_found_by_id(project, tmp_path):
    write_meetings(tmp_path / "exports", 40)
    export = read_export(tmp_path / "exports", Options())
    assert not export.result.quarantine
    (project / "data" / "calls" / "calls.jsonl").unlink()
    write_dialogues(project / "data" / "calls" / "exports.jsonl", export.result.dialogues)
    artifacts, said = run(project, *TO_THE_FIGURES[:5])
    assert said[0].startswith("40 dialogues, 360 turns")
    assert read_json(artifacts.training)["steps"] > 0
    encoder = DialogueEncoder.from_pretrained(artifacts.model)
    embed_file(project / "data" / "calls" / "exports.jsonl", tmp_path / "v.parquet", encoder=encoder, progress=False)
    vectors = pd.read_parquet(tmp_path / "v.parquet").set_index("dialogue_id")["embedding"]
    [meeting] = [dialogue for dialogue in export.result.dialogues if dialogue.dialogue_id == "meeting-07"]
    assert meeting.n_speakers == 3
    np.testing.assert_allclose(vectors["meeting-07"], encoder.encode([meeting])[0], atol=1e-5)


def test_corpus_without_labels_trains_and_says_that_nothing_can_be_scored(project):
    path = project / "data" / "calls" / "calls.jsonl"
    path.write_text(path.read_text().replace('"labels"', '"topics"'))
    artifacts, said = run(project, *TO_THE_FIGURES)
    assert said[-1] == f"no figures on test: {NO_LABELS}"
    metrics = read_json(artifacts.metrics)
    assert metrics["start"] is metrics["trained"] is None
    page = artifacts.report.read_text()
    assert page.count('<svg class="map"') in (1, 2)
    assert "coloured by group" in page


def test_empty_dev_split_leaves_the_test_figures(project):
    change(project, "prepare", dev_share=0.0)
    artifacts, _ = run(project, *TO_THE_FIGURES)
    assert read_json(artifacts.dev_metrics)["trained"] is None
    assert read_json(artifacts.metrics)["trained"]["map"] > 0


def test_failing_expectation_stops_the_pipeline_but_leaves_its_report(project):
    (project / "data" / "calls" / "more.jsonl").write_text("{broken\n" * 20)
    with pytest.raises(ValidationError, match="records quarantined"):
        run(project, validate)
    artifacts = Artifacts(project, "calls")
    report = read_json(artifacts.validation)
    assert [e["expectation"] for e in report["expectations"] if e["failed"]] == [
        "at most 5.0% of the records quarantined"
    ]
    assert "so the run stops here" in artifacts.validation_page.read_text()
    assert not artifacts.profile.exists()
    assert report["quarantined"] == 21


def test_unknown_corpus_and_missing_artifact_say_what_to_do(project):
    settings = load_settings(project / "params.yaml")
    with pytest.raises(CorpusError, match="nowhere"):
        validate(Artifacts(project, "nowhere"), settings)
    with pytest.raises((ArtifactError, CorpusError), match="does not exist"):
        prepare(Artifacts(project, "calls"), settings)


def stage_process(project, stage, *arguments):
    return subprocess.run(
        [sys.executable, "-m", f"dial2vec.pipeline.{stage}", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stage_is_a_command_that_says_what_it_did_and_how_long_it_took(project):
    done = stage_process(project, "validate", "calls")
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("validate of calls: 120 dialogues, 600 turns")
    assert read_json(Artifacts(project, "calls").seconds("validate")) > 0


@pytest.mark.services("torch")
def test_training_by_two_processes_leaves_what_training_by_one_does(project):
    run(project, *READY)
    command = [sys.executable, "-m", "dial2vec.pipeline.train", "calls"]
    path = project / "params.yaml"
    path.write_text(path.read_text() + "processes: 2\n")
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("train of calls: 3 candidates; 5 steps over 10 dialogues") == 1
    artifacts = Artifacts(project, "calls")
    by_two = [(one.name, one.step) for one in read_candidates(artifacts.candidates)]
    run(project, train_encoder)
    assert by_two == [(one.name, one.step) for one in read_candidates(artifacts.candidates)]


@pytest.mark.services("torch")
def test_a_process_that_fails_ends_the_others_and_the_stage_with_a_sentence(capfd):
    with pytest.raises(Dial2vecError, match="one of 2 processes failed; its reason is above"):
        stage._launch("dial2vec.there_is_no_such_stage", "calls", 2)
    said = capfd.readouterr().err
    assert "No module named dial2vec.there_is_no_such_stage" in said
    assert "Traceback" not in said


def test_a_stage_prints_an_error_as_one_sentence_and_the_traceback_only_with_debug(project):
    done = stage_process(project, "prepare", "calls")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "does not exist" in done.stderr
    assert "Traceback" in stage_process(project, "prepare", "calls", "--debug").stderr


def test_a_stage_waits_for_nobody_else_and_names_who_is_at_work(project):
    with checkout_lock(project, "flow retrain"):
        script = "import dial2vec.pipeline.run_stage as s, dial2vec.files as f, sys, os; os.environ.pop(f.LOCK_OWNER)\n"
        script += "sys.argv = ['prepare', 'calls']\n"
        script += "f.checkout_lock.__wrapped__.__kwdefaults__['patience'] = 0\n"
        script += "from dial2vec.pipeline.prepare import prepare; s.main(prepare)"
        done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "another process is at work" in done.stderr
    assert "flow retrain" in done.stderr
