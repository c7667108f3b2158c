from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizerFast

from dial2vec.encoder.tokens import DialogueTokenizer
from dial2vec.errors import ModelError
from dial2vec.training.augmentation import TOKEN_WAYS
from dial2vec.training.augmentation.token_ways import Vocabulary

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]"]
TOKENS = [*SPECIAL, "[DEL]", *(f"w{i}" for i in range(8)), "##a", "##b"]
NUMBER = {token: i for i, token in enumerate(TOKENS)}
TOKENIZER = BertTokenizerFast(vocab=NUMBER)
VOCABULARY = Vocabulary.of(TOKENIZER)
TURNS = st.lists(
    st.lists(st.sampled_from(["w0", "w1a", "w2ab", "w3", "w4b"]), min_size=1, max_size=5), min_size=1, max_size=4
)
BATCHES = st.lists(TURNS, min_size=1, max_size=4)


def padded(dialogues, *, input="separators"):
    """A batch of dialogues, each a list of turns of words; turns are said by two speakers in turn."""
    tokens = DialogueTokenizer(TOKENIZER, max_length=200, input=input)
    return tokens.pad(
        [
            tokens.assemble(
                list(tokens.utterances(" ".join(turn) for turn in turns)), [i % 2 for i in range(len(turns))]
            )
            for turns in dialogues
        ]
    )


def rows(batch):
    """Each row as (id, turn, role) tuples without padding."""
    return [
        [tuple(int(table[row, place]) for table in (batch.ids, batch.turns, batch.roles)) for place in range(int(n))]
        for row, n in enumerate(batch.attention.sum(1))
    ]


def is_fixed(token):
    return TOKENS[token] in SPECIAL[:5] or TOKENS[token] == "[DEL]"


def words(row):
    """Places of each word of a row that may be changed."""
    found, last = [], None
    for place, (token, turn, _) in enumerate(row):
        if is_fixed(token):
            last = None
        elif last == turn and TOKENS[token].startswith("##"):
            found[-1].append(place)
        else:
            found.append([place])
            last = turn
    return found


def by_draw(row, draws, n):
    """The n words whose first tokens drew least, in that order."""
    return sorted(words(row), key=lambda word: float(draws[word[0]]))[:n]


def share_of(share, n):
    return int(share * n + 0.5)


def uniform(batch, generator):
    return torch.rand(batch.ids.shape, generator=generator)


def truncated_slowly(batch, generator):
    draws = torch.rand((len(batch.ids), 1), generator=generator)
    found = []
    for row, draw in zip(rows(batch), draws[:, 0], strict=True):
        numbers = sorted({turn for _, turn, _ in row})
        k = min(int(float(draw) * (len(numbers) - 1)) + 1, len(numbers) - 1)
        left = [token for token in row if token[1] >= numbers[k]]
        start = [(row[0][0], left[0][1], left[0][2])] if k and TOKENS[row[0][0]] == "[CLS]" else []
        found.append([(token, turn - numbers[k], role) for token, turn, role in [*start, *left]])
    return found


def deleted_slowly(batch, generator, share=0.7):
    draws, found = uniform(batch, generator), []
    for row, own in zip(rows(batch), draws, strict=True):
        gone = {place for word in by_draw(row, own, share_of(share, len(words(row)))) for place in word}
        left = []
        for place, (token, turn, role) in enumerate(row):
            if place not in gone:
                left.append((token, turn, role))
            elif place - 1 not in gone or row[place - 1][1] != turn:
                left.append((NUMBER["[DEL]"], turn, role))
        found.append(left)
    return found


def reordered_slowly(batch, generator, share=0.3):
    draws, found = uniform(batch, generator), []
    for row, own in zip(rows(batch), draws, strict=True):
        n = len(words(row))
        pairs = min(int(share * n / 2 + 0.5), n // 2)
        chosen = by_draw(row, own, 2 * pairs)
        put = {first[0]: second for first, second in zip(chosen[::2], chosen[1::2], strict=True)}
        put |= {second[0]: first for first, second in zip(chosen[::2], chosen[1::2], strict=True)}
        word_of = {word[0]: word for word in words(row)}
        inner = {place for word in words(row) for place in word[1:]}
        new = []
        for place, (token, turn, role) in enumerate(row):
            if place in word_of:
                new += [(row[other][0], turn, role) for other in put.get(place, word_of[place])]
            elif place not in inner:
                new.append((token, turn, role))
        found.append(new)
    return found


def replaced_slowly(batch, generator, share=0.3):
    choosing, drawing = uniform(batch, generator), uniform(batch, generator)
    found = []
    for number, row in enumerate(rows(batch)):
        chosen = by_draw(row, choosing[number], share_of(share, len(words(row))))
        gone = {place for word in chosen for place in word[1:]}
        first = {word[0] for word in chosen}
        new = []
        for place, (token, turn, role) in enumerate(row):
            if place in first:
                new.append((int(VOCABULARY.words[int(drawing[number, place] * len(VOCABULARY.words))]), turn, role))
            elif place not in gone:
                new.append((token, turn, role))
        found.append(new)
    return found


SLOWLY = {
    "truncation": truncated_slowly,
    "deletion": deleted_slowly,
    "reordering": reordered_slowly,
    "replacement": replaced_slowly,
}


@pytest.mark.parametrize("input", ["separators", "text"])
@pytest.mark.parametrize("way", SLOWLY)
@given(dialogues=BATCHES, seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_it_equals_a_loop_over_words_with_the_same_draws(way, input, dialogues, seed):
    batch = padded(dialogues, input=input)
    found = TOKEN_WAYS[way](batch, VOCABULARY, generator=torch.Generator().manual_seed(seed))
    assert rows(found) == SLOWLY[way](batch, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("way", TOKEN_WAYS)
@given(dialogues=BATCHES, seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_ends_of_turns_are_kept_and_padding_is_whole(way, dialogues, seed):
    batch = padded(dialogues)
    found = TOKEN_WAYS[way](batch, VOCABULARY, generator=torch.Generator().manual_seed(seed))
    assert len(found.ids) == len(batch.ids)
    assert found.ids.shape[1] == int(found.attention.sum(1).max()) or way in ("conmix", "reordering")
    for before, after, row in zip(rows(batch), rows(found), range(len(batch.ids)), strict=True):
        specials = [token[0] for token in before if is_fixed(token[0])]
        kept = [token[0] for token in after if is_fixed(token[0]) and token[0] != NUMBER["[DEL]"]]
        assert kept == (specials[:1] + specials[len(specials) - len(kept) + 1 :] if way == "truncation" else specials)
        assert [turn for _, turn, _ in after] == sorted(turn for _, turn, _ in after)
        padding = slice(len(after), None)
        assert not found.attention[row, padding].any()
        assert (found.ids[row, padding] == 0).all()
        assert (found.roles[row, padding] == -1).all()


@given(dialogues=BATCHES, seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_reordering_keeps_the_words(dialogues, seed):
    batch = padded(dialogues)
    found = TOKEN_WAYS["reordering"](batch, VOCABULARY, generator=torch.Generator().manual_seed(seed))
    for before, after in zip(rows(batch), rows(found), strict=True):
        assert sorted(token for token, _, _ in before) == sorted(token for token, _, _ in after)


def test_truncation_leaves_turns_that_count_down_their_numbers():
    plato = Vocabulary.of(TOKENIZER, fixed=("[unused0]",))
    batch = padded([[["w0"], ["w1a"], ["w2ab"]]])
    batch.turns[batch.attention.bool()] = 3 - batch.turns[batch.attention.bool()]
    found = TOKEN_WAYS["truncation"](batch, plato, generator=torch.Generator().manual_seed(0))
    assert int(found.turns[0, -1]) == 1
    assert found.turns[0].tolist() == sorted(found.turns[0].tolist(), reverse=True)


def test_a_vocabulary_knows_words_pieces_and_what_is_never_touched():
    assert [TOKENS[number] for number in VOCABULARY.words] == [f"w{i}" for i in range(8)]
    assert [TOKENS[i] for i in VOCABULARY.goes_on.nonzero()[:, 0]] == ["##a", "##b"]
    assert [TOKENS[i] for i in VOCABULARY.fixed.nonzero()[:, 0]] == [*SPECIAL[:5], "[DEL]"]
    assert Vocabulary.of(TOKENIZER, fixed=("[unused0]",)).fixed[5]
    assert (VOCABULARY.start, VOCABULARY.deleted, VOCABULARY.padding) == (2, 6, 0)
    assert VOCABULARY.to("cpu").words.tolist() == VOCABULARY.words.tolist()


def test_in_a_byte_level_vocabulary_a_word_begins_with_its_blank():
    from transformers import RobertaTokenizerFast

    letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġw", "w", "1"]
    found = Vocabulary.of(RobertaTokenizerFast(vocab={token: i for i, token in enumerate(letters)}, merges=[]))
    assert found.words.tolist() == [5]
    assert found.goes_on[6]
    assert not found.goes_on[5]


def test_deletion_needs_a_token_for_it():
    without = Vocabulary.of(TOKENIZER, deleted="[GONE]")
    with pytest.raises(ModelError, match="no token for deleted words"):
        TOKEN_WAYS["deletion"](padded([[["w0"]]]), without, generator=torch.Generator())


def test_a_token_that_is_not_there_cannot_be_left_alone():
    with pytest.raises(ModelError, match=r"no token \[EOT\], which must not change"):
        Vocabulary.of(TOKENIZER, fixed=("[EOT]",))


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(ModelError, match="no token that is a whole word"):
        Vocabulary.of(BertTokenizerFast(vocab={token: i for i, token in enumerate([*SPECIAL, "##a"])}))
