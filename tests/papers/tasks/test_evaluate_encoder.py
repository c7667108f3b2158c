"""`dial2vec papers evaluate` from the shell: a model or a baseline."""

from __future__ import annotations

import json
import re
import sys

import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.cli import main
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.baselines import BASELINES, Baseline
from dial2vec_papers.tasks.records import TaskResult
from dial2vec_papers.tasks.run import RUNNERS

TEXTS = ["w1 w2", "w1 w3", "w4"]


def talk(number):
    """One answers with the very words that it was asked."""
    text = " ".join([f"w{number % 10}"] * (1 + number // 10) + [f"w{(number + 3) % 10}"] * (number % 7 + 1))
    return Dialogue(f"d{number}", (Turn("a", text), Turn("b", text)))


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, ["evaluate", *map(str, arguments)])


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "sts.txt").write_text("5\tw1 w2\tw1 w2\n3\tw1 w2\tw1 w3\n1\tw1 w2\tw4\n")
    return tmp_path / "sts.txt"


@pytest.fixture
def project(tmp_path, monkeypatch, tiny_folder):
    """A checkout with the splits of a corpus."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").write_text(json.dumps({"corpora": ["talks"], "encoder": {"name": tiny_folder}}))
    artifacts = Artifacts(tmp_path, "talks")
    artifacts.splits.mkdir(parents=True)
    write_dialogues(artifacts.split("train"), map(talk, range(110, 150)))
    write_dialogues(artifacts.split("test"), map(talk, range(110)))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fits(monkeypatch):
    """The dialogues and the seed of each fit of a baseline "known", and the turns that it encodes each time."""
    fits, encoded = [], []

    def fit(train, *, seed, start):
        fits.append(([one.dialogue_id for one in train], seed, start))
        encoder = DialogueEncoder.from_pretrained(start)

        def encode(dialogues):
            encoded.append([[turn.text for turn in one.turns] for one in dialogues])
            return encoder.encode(dialogues)

        return encode

    monkeypatch.setitem(BASELINES, "known", Baseline(fit, encodes=True))
    return fits, encoded


def test_the_command_says_each_result_and_writes_them_all(run, tiny_folder, pairs, tmp_path):
    output = tmp_path / "new" / "results.jsonl"
    done = run("--model", tiny_folder, "--pairs", pairs, "--output", output)
    assert done.exit_code == 0, done.output
    assert re.match(r"sentence pairs, sts \(3, \d+ s\): spearman ", done.output)
    [record] = map(json.loads, output.read_text().splitlines())
    assert TaskResult(**record).n == 3


def test_unknown_tokens_are_told_once(run, tiny_folder, pairs):
    assert "unknown" not in run("--model", tiny_folder, "--pairs", pairs).output
    pairs.write_text("5\t你好\t您好\n1\t你好\tw1\n2\tw1\t再见\n")
    done = run("--model", tiny_folder, "--pairs", pairs)
    assert done.output.count("75% of the tokens are unknown to") == 1, done.output


def test_a_baseline_that_knows_the_words_finds_the_answers_that_repeat_them(run, project, tmp_path):
    done = run("--baseline", "tfidf_svd", "--corpus", "talks", "--tasks", "response_selection", "--output", "r.jsonl")
    assert done.exit_code == 0, done.output
    assert re.match(r"response selection, talks, of 10 \(110, \d+ s\): recall at 1 ", done.output)
    of_10, of_51, of_100 = [TaskResult(**json.loads(line)) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert of_10.figures["mrr"] == of_51.figures["mrr"] == of_100.figures["mrr"] == 100
    assert (of_51.settings["similarity"], of_51.cut) == ("cosine", None)


def test_the_similarity_can_be_the_dot_product(run, project, tiny_folder, tmp_path):
    asked = ("--corpus", "talks", "--tasks", "response_selection", "--similarity", "dot", "--output", "r.jsonl")
    done = run("--model", tiny_folder, *asked)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert {one["settings"]["similarity"] for one in found} == {"dot"}
    assert "'euclid' is not one of 'cosine', 'dot'" in run("--model", tiny_folder, "--similarity", "euclid").output


def test_what_was_found_stays_when_a_later_task_fails(run, project, pairs, tiny_folder, tmp_path, monkeypatch):
    def broken(*_):
        raise Dial2vecError("the disk is full")

    monkeypatch.setitem(RUNNERS, "response_selection", broken)
    done = run("--model", tiny_folder, "--pairs", pairs, "--corpus", "talks", "--output", "r.jsonl")
    assert (done.exit_code, "the disk is full" in done.output) == (1, True)
    assert [json.loads(line)["task"] for line in (tmp_path / "r.jsonl").read_text().splitlines()] == ["sentence_pairs"]


def test_wrong_data_is_found_before_the_model_is_loaded(run, project, monkeypatch):
    monkeypatch.setattr(DialogueEncoder, "from_pretrained", lambda *_: pytest.fail("loaded"))
    for arguments, message in [
        (["--pairs", "nowhere.txt"], "nowhere.txt does not exist"),
        (["--intents", "nowhere"], "nowhere"),
        (["--corpus", "calls"], "the corpus 'calls' has no splits yet"),
        (
            ["--corpus", "talks", "--tasks", "sentence_pairs"],
            "no data for the task 'sentence_pairs'; expected --pairs.",
        ),
    ]:
        done = run("--model", "m", *arguments)
        assert (done.exit_code, message in done.output) == (1, True), done.output


def test_a_baseline_is_fitted_once_on_the_train_split_and_reads_utterances_as_dialogues_of_one_turn(
    run, project, fits, pairs, tiny_folder
):
    tasks = "sentence_pairs,response_selection"
    done = run("--baseline", "known", "--corpus", "talks", "--tasks", tasks, "--pairs", pairs, "--seed", 7)
    assert done.exit_code == 0, done.output
    [(ids, seed, start)] = fits[0]
    assert (ids, seed, start) == ([f"d{number}" for number in range(110, 150)], 7, tiny_folder)
    assert fits[1][0] == [[text] for text in TEXTS]

    assert [len(turns) for turns in fits[1][1]] == [1] * len(fits[1][1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "found neither --model nor --baseline; expected exactly one"),
        (["--model", "m", "--baseline", "lda", "--corpus", "talks"], "found both --model and --baseline; expected"),
        (["--baseline", "lda"], "found 0 corpora for the baseline 'lda'; expected one"),
        (["--baseline", "lda", "--corpus", "talks", "--corpus", "calls"], "found 2 corpora for the baseline 'lda'"),
        (["--baseline", "ldaa", "--corpus", "talks"], "there is no baseline 'ldaa'. Did you mean 'lda'? Valid: lda, "),
        (["--baseline", "lda", "--corpus", "calls"], "Run `dial2vec run` with it in"),
        (["--baseline", "word2vec", "--corpus", "talks"], "the baseline 'word2vec' needs the library gensim"),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(run, project, monkeypatch, arguments, message):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert done.output.startswith("Error: ")
    assert done.output.count("\n") == 1
    assert message in done.output


def test_word_vectors_that_cannot_be_fetched_say_the_ways_out(run, project, monkeypatch):
    from gensim import downloader

    def unreachable(name):
        raise OSError("no route to host")

    monkeypatch.setattr(downloader, "load", unreachable)
    done = run("--baseline", "word_vectors", "--corpus", "talks")
    assert done.exit_code == 1
    assert "gensim could not fetch the word vectors" in done.output


def test_a_wrong_task_is_found_before_anything_is_fitted(run, project, fits):
    done = run("--baseline", "known", "--corpus", "talks", "--tasks", "intent")
    assert "there is no task 'intent'. Did you mean 'intents'?" in done.output
    assert fits == ([], [])


def test_a_baseline_is_not_trained_further_and_says_so_before_it_is_fitted(run, project, fits):
    done = run("--baseline", "known", "--corpus", "talks", "--tasks", "answers")
    assert done.exit_code == 1
    assert "the task 'answers' trains an encoder, but found a baseline; expected a model" in done.output
    assert fits[0] == []


def test_answers_are_learnt_from_the_train_split_and_the_trainings_are_kept(run, project, tiny_folder, tmp_path):
    artifacts = Artifacts(tmp_path, "talks")
    write_dialogues(artifacts.split("dev"), map(talk, range(150, 160)))
    asked = ("--tasks", "answers", "--corpus", "talks", "--shot", 2, "--draws", 2, "--limit", 5, "--runs", "runs.jsonl")
    done = run("--model", tiny_folder, *asked, "--output", "r.jsonl")
    assert done.exit_code == 0, done.output
    [record] = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert (record["task"], record["n"], record["settings"]["draws"]) == ("answer_fine_tuning", 5, 2)
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 2


def test_maps_of_answers_are_drawn_into_a_folder(run, project, tiny_folder, tmp_path):
    asked = ("--corpus", "talks", "--tasks", "single_utterances", "--pictures", tmp_path / "maps")
    done = run("--model", tiny_folder, *asked)
    assert done.exit_code == 0, done.output
    assert "talks, of 100, last 1 turn (110, " in done.output
    assert done.output.endswith(f"wrote {tmp_path}/maps/talks_answers.png\n")
    assert (tmp_path / "maps" / "talks_answers.png").stat().st_size > 1000
