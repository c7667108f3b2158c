from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conversations.redaction import Masks
from dial2vec.cli import main
from dial2vec.collection.clustering.clusters import stored_clusters
from dial2vec.collection.describing import chat, describe_groups, describing, naming, questions_of, read_descriptions
from dial2vec.errors import ArtifactError, Dial2vecError
from tests.collection.describing.conftest import GOOD, Reply


def run(collection, server, **changes):
    settings = server.settings(**changes)
    questions = questions_of(collection, settings, masks=Masks())
    return describe_groups(collection, settings, questions, masked=True)


def test_every_cluster_and_area_gets_a_name_and_a_summary_beside_its_terms(collection, server):
    described = run(collection, server)
    assert (described.answered, described.asked, described.failures) == (3, 3, ())
    record = read_descriptions(collection)
    assert record["clusters"].keys() == {"4", "7"}
    assert record["areas"].keys() == {"0"}
    assert record["clusters"]["4"] == {
        "name": "Lost cards",
        "summary": "Customers lost their card.",
        "by": "model",
        "terms": ["card", "anna", "lost"],
        "size": 3,
    }


def test_what_is_sent_is_masked_and_has_no_ids(collection, server):
    run(collection, server)
    sent = json.dumps([body for _, _, body in server.got])
    assert "my card is lost" in sent
    assert "[EMAIL]" in sent
    for personal in ("Anna", "anna", "bob", "x.org", "c0", "f0"):
        assert personal not in sent.replace("personal", "")


def test_without_masks_the_texts_stay_as_they_are(collection, server):
    texts = [question.text for question in questions_of(collection, server.settings(), masks=None)]
    assert "Anna Lee: my card is lost" in texts[0]
    assert "anna" in texts[0].splitlines()[0]


def test_further_names_are_masked_too(collection, server):
    texts = [question.text for question in questions_of(collection, server.settings(), masks=Masks(names=("Rome",)))]
    assert "Rome" not in "".join(texts)


def test_a_question_holds_few_dialogues_of_its_group_and_of_the_closest_other_one(collection, server):
    first = questions_of(collection, server.settings(dialogues_per_group=2), masks=Masks())[0]
    assert first.dialogues == 3
    assert first.text.count("\nIn the group:") == 2
    assert first.text.count("\nNot in the group:") == 1
    assert first.text.index("my card") < first.text.index("Not in the group:") < first.text.index("a flight")


def test_answers_are_kept_and_asked_for_only_once(collection, server):
    run(collection, server)
    assert run(collection, server).asked == 0
    assert len(server.got) == 3
    assert run(collection, server, model="other").asked == 3


def test_a_damaged_kept_answer_is_asked_for_again(collection, server):
    run(collection, server)
    next((collection.folder / "descriptions" / "answers").iterdir()).write_text("{")
    assert run(collection, server).asked == 1


def test_a_failed_group_keeps_its_terms(collection, server):
    server.replies = [Reply("no JSON"), Reply("again no JSON")]
    described = run(collection, server)
    assert described.answered == 2
    assert described.failures[0].startswith(f"{server.address} answered 'again no JSON' about cluster 4; expected JSON")
    words = described.record["clusters"]["4"]
    assert (words["name"], words["summary"], words["by"]) == ("card, anna, lost", "", "terms")


def test_an_answer_in_another_form_is_asked_for_a_second_time(collection, server):
    server.replies = [Reply("no JSON")]
    assert run(collection, server).answered == 3


def test_a_refused_key_ends_the_run_and_older_descriptions_stay(collection, server):
    run(collection, server)
    server.always = Reply(status=401)
    with pytest.raises(Dial2vecError, match="refused the key in A_KEY"):
        run(collection, server, model="other")
    assert len(server.got) == 4
    assert read_descriptions(collection)["model"] == "small"


def test_after_failures_in_a_row_no_further_group_is_asked_about(collection, server, monkeypatch):
    monkeypatch.setattr(describing, "IN_A_ROW", 2)
    monkeypatch.setattr(chat, "TRIES", 1)
    server.always = Reply(status=500)
    with pytest.raises(Dial2vecError, match=r"gave no answer \(status 500"):
        run(collection, server)
    assert len(server.got) == 2


def test_answers_that_cost_far_more_than_the_estimate_end_the_run(collection, server, monkeypatch):
    monkeypatch.setattr(describing, "MOST_TIMES", 0.01)
    described = run(collection, server, price_in=1.0)
    assert described.asked == 1
    assert "times the estimate" in described.failures[0]


def test_the_estimate_counts_tokens_and_prices_of_new_questions_only(collection, server):
    settings = server.settings(price_in=2.0, price_out=10.0)
    questions = questions_of(collection, settings, masks=Masks())
    expected = describing.estimate(collection, settings, questions)
    tokens = sum(question.tokens for question in questions)
    assert (expected.questions, expected.tokens_in, expected.tokens_out) == (3, tokens, 240)
    assert expected.cost == pytest.approx((2 * tokens + 10 * 240) / 1e6)
    described = describe_groups(collection, settings, questions, masked=True)
    assert described.cost == pytest.approx(3 * (2 * 100 + 10 * 10) / 1e6)
    assert describing.estimate(collection, settings, questions) == describing.Estimate(0, 0, 0, 0, 0.0)


def test_instructions_of_the_operator_follow_the_rules_and_new_ones_ask_again(collection, server):
    run(collection, server)
    assert run(collection, server, instructions=" The customers' words, in German.\n").asked == 3
    plain, steered = (body["messages"][0]["content"] for _, _, body in (server.got[0], server.got[3]))
    assert plain == naming.RULES
    assert steered == f"{naming.RULES}\n\n{naming.OPERATOR}\nThe customers' words, in German."
    assert run(collection, server, instructions="The customers' words, in German.").asked == 0


def test_any_number_of_questions_at_a_time_gives_the_same_file(collection, server):
    usual, files = server.usual, []
    server.usual = lambda text: replace(usual(text), seconds=0.2 if "flight" in text.partition("\n")[0] else 0.1)
    for concurrency in (1, 8):
        shutil.rmtree(collection.folder, ignore_errors=True)
        server.most = 0
        run(collection, server, concurrency=concurrency)
        files.append((collection.folder / "descriptions" / "descriptions.json").read_bytes())
        assert server.most == min(3, concurrency)
    assert files[0] == files[1]


def test_at_most_the_questions_under_way_are_answered_after_the_end(collection, server):
    server.replies, server.usual = [Reply(status=401)], lambda _: Reply(seconds=0.3)
    assert run(collection, server, concurrency=2).answered <= 1
    assert len(server.got) <= 2


def test_no_descriptions_and_those_of_another_encoder_are_none_and_damaged_ones_are_said(collection, server):
    assert read_descriptions(collection) is None
    run(collection, server)
    collection.manifest.fingerprint = "g"
    assert read_descriptions(collection) is None
    (collection.folder / "descriptions" / "descriptions.json").write_text("{}")
    with pytest.raises(ArtifactError, match="expected descriptions of groups"):
        read_descriptions(collection)


def test_a_collection_without_clusters_says_how_to_get_them(collection, server, monkeypatch):
    monkeypatch.setattr(describing, "stored_clusters", stored_clusters)
    with pytest.raises(ArtifactError, match=r"has no groups; expected those of `dial2vec cluster"):
        questions_of(collection, server.settings(), masks=None)


@pytest.fixture
def command(collection, server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dial2vec.collection.collection_folder.CollectionFolder", lambda _: collection)
    block = f"address: {server.address}, model: small, key_variable: A_KEY, price_in: 1000, concurrency: 1"
    (tmp_path / "operation.yaml").write_text(f"language_model: {{{block}}}\n")

    def invoke(*options: str, text: str | None = None):
        return CliRunner().invoke(main, ["describe", str(collection.folder), *options], input=text)

    return invoke


def test_the_command_shows_the_cost_and_asks_first(command, server):
    done = command(text="n\n")
    assert done.exit_code == 1
    assert f"To {server.address}, model small: 3 questions with 12 masked dialogues, about" in done.stderr
    assert "by your prices" in done.stderr
    assert "Error: nothing was sent, as you answered" in done.stderr
    done = command(text="")
    assert "Add --yes" in done.stderr
    assert server.got == []


def test_the_command_describes_and_asks_nothing_if_all_answers_are_kept(command, server):
    done = command(text="y\n")
    assert done.exit_code == 0, done.output
    assert "Lost cards" in done.stdout
    assert "terms: card, anna, lost" in done.stdout
    again = command("--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["clusters"]["7"]["name"] == "Flights"
    assert len(server.got) == 3


def test_a_dry_run_prints_the_questions_and_sends_nothing(command, server):
    done = command("--dry-run")
    assert "--- cluster 4" in done.stdout
    assert "In German." in command("--dry-run", "--instructions", "In German.").stdout
    assert "[EMAIL]" in done.stdout
    assert "[EMAIL]" not in command("--dry-run", "--unmasked").stdout
    assert "UNMASKED" in command("--dry-run", "--unmasked").stdout
    assert server.got == []


def test_groups_that_kept_their_terms_are_said_in_one_sentence(command, server):
    server.replies = [Reply("no"), Reply("no"), Reply(GOOD)]
    done = command("--yes")
    assert done.exit_code == 0
    assert "1 of 3 groups kept their terms: " in done.stderr
    server.replies = [Reply("no")] * 4
    done = command("--yes", "--model", "other")
    assert done.stderr.count("kept their terms") == 1
    assert "2 of 3 groups kept their terms (first of 2 reasons): " in done.stderr


def test_the_command_is_off_without_an_address(command, tmp_path):
    (tmp_path / "operation.yaml").unlink()
    done = command("--yes")
    assert done.exit_code == 1
    assert "language_model.address is null, so no language model is used" in done.stderr
    assert "expected one that begins with http:// or https://" in command("--address", "x", "--model", "m").stderr
    assert "model is blank" in command("--address", "http://x/v1").stderr
    long = command("--address", "http://x/v1", "--model", "m", "--instructions", "x" * 1001)
    assert "language_model.instructions: found 1,001 characters; expected at most 1,000" in long.stderr
    assert "found --unmasked with --redact-name" in command("--unmasked", "--redact-name", "Anna").stderr
