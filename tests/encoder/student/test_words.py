"""Tokens of texts: whatever is cached, they are those of the tokenizer itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from dial2vec.encoder.names import resolve
from dial2vec.encoder.student import words as module
from dial2vec.encoder.student.words import TextReader, WordReader, token_reader
from dial2vec.errors import Dial2vecError

PACKAGED = str(Path(resolve("all-MiniLM-L6-v2")) / "tokenizer.json")
# What normalizers, splitting and added tokens could treat differently at the edge of a word.
HARD = [
    *("", " ", "  ", "\t", "\n", "\r", "\x00", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\x85", "\xa0", "\xad"),
    *("\u200b", "\u200d", "\u2028", "\u2029", "\u3000", "\ufeff", "\ufffd", "\U000e0001"),
    *("[SEP]", "[CLS]", "[UNK]", "[MASK]", "[PAD]", "[sep]", "[", "]", "SEP", "##ing", "don't", "U.S.", "$5.00"),
    *("Σ", "ΑΣ", "ς", "İ", "ß", "ﬁ", "e\u0301", "\u0301", "é", "Å", "\u1e9b\u0323", "\u0f71\u0f72", "क्षि"),
    *(
        "中文",
        "中",
        "\u4e00\u0301",
        "かな",
        "한글",
        "\u1112\u1161\u11ab",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "❤️",
        "x" * 100,
        "y" * 101,
    ),
    *("antidisestablishmentarianism", "hello", "World"),
]
TEXTS = st.lists(st.one_of(st.sampled_from(HARD), st.text(max_size=8)), max_size=12).map("".join)
GROUPS = st.lists(st.lists(TEXTS, max_size=4), max_size=4)


def word_level(**options: bool) -> Tokenizer:
    vocabulary = {word: place for place, word in enumerate(("[UNK]", "[SEP]", "hello", "World", "中文", "SEP"))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens([AddedToken("[SEP]", **options)])
    return tokenizer


def lowered() -> Tokenizer:
    tokenizer = word_level()
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
    return tokenizer


def with_marks() -> Tokenizer:
    """TOD-BERT's tokens, which are normalized before they are looked for."""
    tokenizer = Tokenizer.from_file(PACKAGED)
    tokenizer.add_tokens(["[sys]", "[usr]"])
    return tokenizer


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(
        models.BPE({letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, [])
    )
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    return tokenizer


CACHED: dict[str, Callable[[], Tokenizer]] = {
    "packaged": lambda: Tokenizer.from_file(PACKAGED),
    "marks": with_marks,
    "word level": word_level,
    "strips around an added token": lambda: word_level(lstrip=True, rstrip=True),
    "added token only alone": lambda: word_level(single_word=True),
    "lowered": lowered,
}
OTHERS: dict[str, Callable[[], Tokenizer]] = {"bytes": byte_level}
# One reader for all examples of a test: what earlier ones left in its cache must not matter.
READERS = {name: token_reader(build()) for name, build in (CACHED | OTHERS).items()}
PLAIN = {name: build() for name, build in (CACHED | OTHERS).items()}
for tokenizer in PLAIN.values():
    tokenizer.no_truncation()
    tokenizer.no_padding()


def check(name: str, groups: list[list[str]]) -> None:
    expected = [
        [number for text in group for number in PLAIN[name].encode(text, add_special_tokens=False).ids]
        for group in groups
    ]
    ids, lengths = READERS[name].read(groups)
    assert lengths.tolist() == [len(own) for own in expected]
    assert ids.tolist() == [number for own in expected for number in own]


@pytest.mark.parametrize("name", CACHED | OTHERS)
@given(groups=GROUPS)
@example(groups=[])
@example(groups=[[], [""], [" ", "  "], ["x" * 300]])
@example(groups=[["a b", "c  d"], ["\x1c\x1d a\tb\n", "[SEP] [sep][SEP]a"]])
def test_tokens_are_those_of_the_tokenizer(name, groups):
    check(name, groups)


@pytest.mark.parametrize("text", HARD)
def test_hard_characters_between_and_inside_words(text):
    for name in CACHED:
        check(name, [[f"hello {text} World", f"a{text}b {text}{text}", f"{text} {text}"]])


def test_words_are_cached_only_if_a_blank_always_splits():
    assert {type(READERS[name]) for name in CACHED} == {WordReader}
    assert {type(READERS[name]) for name in OTHERS} == {TextReader}
    for content in ("hello there", "hello\u00a0there", "中文"):
        tokenizer = word_level()
        tokenizer.add_tokens([content])
        assert type(token_reader(tokenizer)) is TextReader
    for part, value in (("normalizer", normalizers.NFC()), ("pre_tokenizer", pre_tokenizers.Punctuation())):
        tokenizer = word_level()
        setattr(tokenizer, part, value)
        assert type(token_reader(tokenizer)) is TextReader


def test_truncation_and_padding_of_the_tokenizer_are_off():
    settings = json.loads(Path(PACKAGED).read_text())
    assert settings["truncation"]["max_length"] == 128
    assert READERS["packaged"].read([["hello " * 1000]])[1].tolist() == [1000]


def test_a_full_cache_is_emptied_and_the_tokens_stay(monkeypatch):
    reader = token_reader(Tokenizer.from_file(PACKAGED))
    expected = [reader.read([[f"hello{number}", "World"]])[0].tolist() for number in range(20)]
    monkeypatch.setattr(module, "MAX_WORDS", 5)
    for _ in range(2):
        assert [reader.read([[f"hello{number}", "World"]])[0].tolist() for number in range(20)] == expected
        assert len(reader._numbers) <= 5 + 2
    monkeypatch.setattr(module, "MAX_CHARACTERS", 50)
    reader.read([["x" * 1000]])
    reader.read([["hello"]])
    assert len(reader._numbers) == 1


def test_half_of_a_character_is_an_error_and_leaves_the_cache_whole():
    reader = token_reader(Tokenizer.from_file(PACKAGED))
    before = reader.read([["hello new World"]])[0].tolist()
    with pytest.raises((TypeError, UnicodeEncodeError, Dial2vecError)):
        reader.read([["hello \ud83d other words"]])
    assert reader.read([["hello new World"]])[0].tolist() == before
    assert reader.read([["other words"]])[0].tolist() == PLAIN["packaged"].encode("other words").ids[1:-1]


def test_threads_share_a_reader():
    reader = token_reader(Tokenizer.from_file(PACKAGED))
    texts = [" ".join(f"word{number * place % 97}" for place in range(50)) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda text: reader.read([[text]])[0].tolist(), texts))
    assert read == [PLAIN["packaged"].encode(text, add_special_tokens=False).ids for text in texts]
