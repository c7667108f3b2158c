from conversations.guessing.unfolding import turns_by_side, unfolding


def test_objects_that_hold_a_text_by_its_side_become_turns():
    listed = turns_by_side([{"id": "1", "turns": [{"agent": "Hello", "time": "10:01"}, {"customer": "Hi"}]}])
    assert listed is not None
    turns = listed({"turns": [{"agent": "Hello", "time": "10:01"}, {"note": "rude"}]})["turns"]
    assert [(turn.get("speaker"), turn.get("text"), turn.get("time")) for turn in turns] == [
        ("agent", "Hello", "10:01"),
        (None, None, None),
    ]


def test_an_exchange_in_a_list_becomes_two_turns_and_the_question_goes_first():
    listed = turns_by_side([{"history": [{"answer": "Yes.", "question": "Rain?"}]}])
    assert listed is not None
    turns = listed({"history": [{"answer": "Yes.", "question": "Rain?"}]})["history"]
    assert [(turn["speaker"], turn["text"]) for turn in turns] == [("user", "Rain?"), ("bot", "Yes.")]


def test_lists_of_people_and_lists_beside_turns_stay():
    turns = [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bo", "text": "Yes"}]
    assert turns_by_side([{"participants": [{"agent": "Ann"}, {"customer": "Bo"}]}]) is None
    assert turns_by_side([{"history": [{"agent": "Ann"}, {"customer": "Bo"}], "turns": turns}]) is None


def test_a_question_and_an_answer_that_are_objects_are_two_turns():
    row = {"id": 1, "question": {"author": "Ana", "text": "How?"}, "answer": {"author": "Bo", "text": "So."}}
    spread = unfolding([row])
    assert spread is not None
    assert spread(row) == {"id": 1, "turns": [row["question"], row["answer"]]}
