from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dial2vec.config import Operation, Settings, flat
from dial2vec.errors import SettingsError
from dial2vec.params import load_operation, load_settings, operation_from_dict, settings_from_dict

PARAMS = Path(__file__).parents[1] / "params.yaml"
OPERATION = PARAMS.with_name("operation.yaml")


def test_the_projects_params_load_and_name_every_setting():
    settings = load_settings(PARAMS)
    written = yaml.safe_load(PARAMS.read_text())
    named = {f"{key}.{name}" for key, block in written.items() if isinstance(block, dict) for name in block}
    assert named | {"corpora", "seed", "processes"} == set(flat(settings))


def test_what_is_left_out_takes_the_default():
    assert settings_from_dict({}) == Settings()
    assert settings_from_dict({"train": {"epochs": 3}}).train.epochs == 3


def test_a_number_without_a_dot_is_still_a_number():
    assert settings_from_dict({"train": {"learning_rate": "1e-5", "temperature": 1}}).train.learning_rate == 1e-5


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"trian": {}}, r"unknown key 'trian'\. Did you mean 'train'\? Valid: corpora, seed"),
        ({"train": {"learning_rat": 1}}, r"'train\.learning_rat'\. Did you mean 'learning_rate'\?"),
        ({"train": 5}, "train: expected keys and values, found 5"),
        ([], "the file: expected keys and values"),
        ({"train": {"epochs": 1.5}}, r"train\.epochs: expected a whole number, found 1\.5"),
        ({"train": {"epochs": True}}, r"train\.epochs: expected a whole number, found True"),
        ({"train": {"epochs": -1}}, r"train\.epochs: expected at least 0, found -1"),
        ({"train": {"frozen_share": 1.2}}, r"train\.frozen_share: expected between 0 and 1, found 1\.2"),
        ({"train": {"window": "far"}}, r"train\.window: expected a whole number or null, found 'far'"),
        ({"train": {"learning_rate": "fast"}}, r"train\.learning_rate: expected a number, found 'fast'"),
        ({"train": {"method": "dial2vek"}}, r"Did you mean 'dial2vec'\? Valid: auto, neighbours, dial2vec"),
        ({"train": {"neighbourhood": 0}}, r"train\.neighbourhood: expected at least 100, found 0"),
        ({"train": {"max_length": 7}}, r"train\.max_length: expected at least 8, found 7"),
        ({"train": {"precision": "fp16"}}, r"train\.precision: found 'fp16'\..*Valid: auto, fp32, bf16"),
        ({"select": {"selection": "label-free"}}, r"Did you mean 'label_free'\? Valid: label_free, dev_purity, last"),
        ({"select": {"bootstraps": 0}}, r"select\.bootstraps: expected between 1 and 1000, found 0"),
        ({"sample": {"keep_role": "frist"}}, r"Did you mean 'first'\? Valid: random, first, second"),
        ({"encoder": {"turn_embeddings": "yes please"}}, "expected true or false"),
        ({"encoder": {"hierarchy": "bidn"}}, r"Did you mean 'biden'\? Valid: none, hssa, biden"),
        (
            {"encoder": {"pooling": "separator"}},
            r"Did you mean 'separators'\? Valid: role, mean, turns, cls, separators",
        ),
        (
            {"encoder": {"hierarchy": "hssa"}, "train": {"method": "dse"}},
            r"encoder\.hierarchy: found hssa, which method dse does not train: .* Set encoder\.hierarchy to none",
        ),
        (
            {"encoder": {"role_embeddings": True}, "train": {"method": "dialoguecse"}},
            r"encoder\.role_embeddings: found true, but method dialoguecse would train only .* Set encoder\.role_emb",
        ),
        (
            {"encoder": {"turn_embeddings": True}, "train": {"method": "dse"}},
            r"encoder\.turn_embeddings: found true, but method dse would train only",
        ),
        ({"encoder": {"name": 5}}, "expected text, found 5"),
        ({"encoder": {"name": " "}}, r"encoder\.name is blank"),
        ({"train": {"weight_decay": float("inf")}}, r"train\.weight_decay: expected at least 0, found inf"),
        ({"train": {"warmup_share": 1.0}}, r"train\.warmup_share: expected between 0 and 0\.99"),
        ({"dialoguecse": {"guidance": "siamese"}}, "Valid: matching, siamese_single, siamese_multi"),
        ({"dialoguecse": {"mlm_epochs": -0.5}}, r"dialoguecse\.mlm_epochs: expected at least 0, found -0\.5"),
        ({"dialoguecse": {"mlm_max_utterances": 0}}, r"mlm_max_utterances: expected at least 1, found 0"),
        (
            {"dialoguecse": {"guidance": "siamese_multi", "aggregation": "attention"}},
            r"dialoguecse\.aggregation: found attention with guidance siamese_multi, .+ Set aggregation to mean",
        ),
        (
            {"dialaug": {"augmentation": "truncation", "share": 0.5}},
            r"dialaug\.share: found 0\.5, but augmentation truncation has no share\. Set share to null",
        ),
        (
            {"dialaug": {"augmentation": "none", "share": 0}},
            r"dialaug\.share: found 0, but augmentation none has no share\. Set share to null",
        ),
        (
            {"intent_augmentation": {"ways": ["shufling"]}},
            r"intent_augmentation\.ways: found 'shufling'\. Did you mean 'shuffling'\? Valid: insertion, back_transl",
        ),
        ({"intent_augmentation": {"ways": ["replacement"]}}, r"ways: found 'replacement'\..*Valid: insertion"),
        ({"intent_augmentation": {"ways": []}}, r"ways: expected at least one, found none\. Valid: insertion, back_t"),
        (
            {"intent_augmentation": {"ways": ["insertion"]}},
            r"ways has insertion, which needs a masked language model\. Set masked_model",
        ),
        (
            {"intent_augmentation": {"ways": ["back_translation"], "translation_models": ["there"]}},
            r"translation_models: found 1, but ways has back_translation; expected two\. Name one that translates",
        ),
        ({"intent_augmentation": {"max_length": 7}}, r"intent_augmentation\.max_length: expected at least 8, found 7"),
        ({"intent_augmentation": {"frozen_share": -1}}, r"frozen_share: expected between 0 and 1, found -1"),
        (
            {"train": {"frozen_share": 1}},
            r"train\.frozen_share: found 1, which leaves nothing to train\. Lower it, .+ train\.epochs to 0 to fit",
        ),
        (
            {"train": {"method": "intent_augmentation"}, "intent_augmentation": {"frozen_share": 1}},
            r"intent_augmentation\.frozen_share: found 1, which leaves nothing to train\. Lower it, set encoder\.hier",
        ),
        ({"dse": {"frozen_share": 1}}, r"dse\.frozen_share: expected between 0 and 0\.99, found 1"),
        ({"dialoguecse": {"frozen_share": 1}}, r"dialoguecse\.frozen_share: expected between 0 and 0\.99, found 1"),
        ({"dialaug": {"frozen_share": 1}}, r"dialaug\.frozen_share: expected between 0 and 0\.99, found 1"),
        ({"dialaug": {"deleted": " "}}, r"dialaug\.deleted is blank; give a token such as '\[DEL\]'"),
        ({"dialaug": {"max_length": 7}}, r"dialaug\.max_length: expected at least 8, found 7"),
        ({"corpora": "demo"}, "corpora: expected a list of names"),
        ({"corpora": []}, "expected at least one name"),
        ({"corpora": ["demo", "demo"]}, "each once"),
        ({"corpora": ["../demo"]}, "no corpus name"),
        ({"prepare": {"dev_share": 0.5, "test_share": 0.5}}, "leave nothing to train on"),
    ],
)
def test_wrong_settings_say_what_is_valid(raw, message):
    with pytest.raises(SettingsError, match=message):
        settings_from_dict(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"schedul": {}}, r"unknown key 'schedul'\. Did you mean 'schedule'\? Valid: schedule, collection, drift"),
        ({"schedule": {"heartbeat": "ping me"}}, r"schedule\.heartbeat is no web address; give one that begins with h"),
        ({"collection": {"folder": "topics"}}, r"collection: expected a list of blocks, found \{'folder': 'topics'\}"),
        ({"collection": ["topics"]}, r"collection\[0\]: expected keys and values, found 'topics'"),
        ({"collection": [{}, {"corpora": "calls"}]}, r"unknown key 'collection\[1\]\.corpora'\. Did you mean 'corpus'"),
        (
            {"collection": [{"model": "small"}]},
            r"collection\[0\]\.model: found 'small'\..* Valid: champion, student, ge",
        ),
        ({"collection": [{}, {}]}, r"collection\[1\]\.folder: found 'topics'; expected a folder of its own"),
        ({"drift": {"max_dialogues": 6000}}, r"drift\.max_dialogues: expected between 20 and 5000, found 6000"),
        ({"drift": {"min_dialogues": 4}}, r"drift\.min_dialogues: expected between 5 and 5000, found 4"),
        ({"drift": {"p_value": 0.001}}, r"drift\.p_value: expected between 0\.002 and 0\.5, found 0\.001"),
        ({"drift": {"min_effect": 2}}, r"drift\.min_effect: expected between 0 and 1, found 2"),
        ({"drift": {"max_far_share": -0.1}}, r"drift\.max_far_share: expected between 0 and 1, found -0\.1"),
        (
            {"drift": {"max_dialogues": 50, "min_dialogues": 60}},
            r"drift\.min_dialogues: found 60, more than drift\.max_dialogues \(50\); lower it",
        ),
        (
            {"language_model": {"address": "ftp://x"}},
            r"language_model\.address: found 'ftp://x'; expected one that begi",
        ),
        (
            {"language_model": {"address": "http://me:secret@x/v1"}},
            r"language_model\.address: found a user or password",
        ),
        ({"language_model": {"address": "http://x/v1"}}, r"language_model\.model is blank; give the name of a model"),
        (
            {"language_model": {"address": "http://x/v1", "model": "m", "key_variable": ""}},
            r"language_model\.key_variable is blank",
        ),
        ({"language_model": {"price_in": -1}}, r"language_model\.price_in: expected at least 0, found -1"),
    ],
)
def test_wrong_settings_of_the_operation_say_what_is_valid(raw, message):
    with pytest.raises(SettingsError, match=r"operation\.yaml: " + message):
        operation_from_dict(raw)


def test_the_projects_operation_file_names_every_setting_and_may_be_missing(tmp_path):
    written = yaml.safe_load(OPERATION.read_text())
    named = {f"{key}.{name}" for key, block in written.items() for name in block}
    assert named | {"collection"} == set(flat(load_operation(OPERATION)))
    assert load_operation(tmp_path / "operation.yaml") == Operation() == load_operation(OPERATION)


@pytest.mark.parametrize(
    "raw",
    [
        {"dialoguecse": {"guidance": "siamese_single"}},
        {"dialaug": {"augmentation": "deletion", "share": 0.5}},
        {"intent_augmentation": {"ways": ["insertion"], "masked_model": "bert-base-uncased"}},
        {"intent_augmentation": {"ways": ["back_translation"], "translation_models": ["there", "back"]}},
        {"train": {"frozen_share": 1, "epochs": 0}},
        {"train": {"frozen_share": 1}, "encoder": {"hierarchy": "hssa"}},
        {"train": {"frozen_share": 1}, "encoder": {"turn_embeddings": True}},
        {"train": {"frozen_share": 1, "method": "dse"}},
    ],
)
def test_what_goes_together_is_not_refused(raw):
    settings_from_dict(raw)


def test_broken_yaml_and_a_missing_file_are_one_sentence(tmp_path):
    broken = tmp_path / "params.yaml"
    broken.write_text("train: [1")
    with pytest.raises(SettingsError, match="not valid YAML") as error:
        load_settings(broken)
    assert "\n" not in str(error.value)
    broken.write_bytes(b"seed: 1 # \xe9")
    for unreadable in (broken, tmp_path):
        with pytest.raises(SettingsError, match="cannot be read as UTF-8 text"):
            load_settings(unreadable)
    with pytest.raises(SettingsError, match="does not exist"):
        load_settings(tmp_path / "none.yaml")
