"""Small files in the forms of upstream, written by us, and the ways to pack them."""

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, Quarantined
from dial2vec_papers.corpora import CORPORA
from tests.data.corpora.archives import read_corpus

FORMS = ("zip", "tar.gz", "folder")


def taskmaster(name: str, *said: str, speakers: tuple[str, str] = ("USER", "ASSISTANT"), **keys: Any) -> dict[str, Any]:
    turns = [
        {"index": place, "speaker": speakers[place % 2], "text": text, "segments": []}
        for place, text in enumerate(said)
    ]
    return {"conversation_id": name, "utterances": turns, **keys}


def woz(number: int, *pairs: tuple[str, str]) -> dict[str, Any]:
    turns = [
        {"turn_idx": place, "system_transcript": system, "transcript": user, "asr": [[user, 1.0]], "turn_label": []}
        for place, (system, user) in enumerate(pairs)
    ]
    return {"dialogue_idx": number, "dialogue": turns}


def camrest(number: int, *pairs: tuple[str, str]) -> dict[str, Any]:
    turns = [
        {"turn": place, "usr": {"transcript": user, "slu": []}, "sys": {"sent": system, "DA": []}}
        for place, (user, system) in enumerate(pairs)
    ]
    return {"dialogue_id": number, "dial": turns, "finished": True, "goal": {"text": "Task 1: You want ..."}}


def kvret(intent: str, *said: str) -> dict[str, Any]:
    turns = [
        {"turn": ("driver", "assistant")[place % 2], "data": {"end_dialogue": False, "utterance": text}}
        for place, text in enumerate(said)
    ]
    return {"dialogue": turns, "scenario": {"kb": {"items": None}, "task": {"intent": intent}, "uuid": "u"}}


def frames(name: str, *said: str) -> dict[str, Any]:
    turns = [
        {"text": text, "author": ("user", "wizard")[place % 2], "labels": {"acts": []}, "timestamp": 1.5e12}
        for place, text in enumerate(said)
    ]
    return {"id": name, "user_id": "u", "wizard_id": "w", "labels": {"userSurveyRating": None}, "turns": turns}


def gsim(name: str, *said: str) -> dict[str, Any]:
    turns: list[dict[str, Any]] = [{"user_utterance": {"text": said[0], "tokens": [], "slots": []}, "user_acts": []}]
    for system, user in zip(said[1::2], said[2::2], strict=True):
        turns.append({"system_utterance": {"text": system}, "user_utterance": {"text": user}, "system_acts": []})
    return {"dialogue_id": name, "turns": turns}


def tabs(*rows: object) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in rows if isinstance(row, tuple))


def dstc2_call(name: str, *pairs: tuple[str, str]) -> dict[str, object]:
    log = [
        {"turn-index": place, "output": {"transcript": system, "dialog-acts": []}, "input": {"live": {"asr-hyps": []}}}
        for place, (system, _) in enumerate(pairs)
    ]
    label = [{"turn-index": place, "transcription": user, "semantics": {}} for place, (_, user) in enumerate(pairs)]
    return {
        f"data/{name}/log.json": {"session-id": name.partition("/")[2], "turns": log},
        f"data/{name}/label.json": {"session-id": name.partition("/")[2], "turns": label, "task-information": {}},
    }


def dstc7(number: int, right: int | None, *said: str, speakers: tuple[str, str], n: int = 4) -> dict[str, Any]:
    options = [{"candidate-id": f"C{number}{place}", "utterance": f"reply {number} {place}"} for place in range(n)]
    return {
        "data-split": "train",
        "example-id": number,
        "messages-so-far": [{"speaker": speakers[place % 2], "utterance": text} for place, text in enumerate(said)],
        "options-for-correct-answers": [] if right is None else [options[right]],
        "options-for-next": options,
        "scenario": 1,
    }


TRAIN_CSV = (
    "Context,Utterance,Label\r\n"
    '"sound does not work __eou__ any idea ? __eou__ __eot__ which card ? __eou__ __eot__",intel __eou__,1\r\n'
    '"how do i mount a disk __eou__ __eot__ by mount , see ""man mount"" __eou__ __eot__",no idea __eou__,0\r\n'
)
CHOICE_CSV = (
    "Context,Ground Truth Utterance," + ",".join(f"Distractor_{n}" for n in range(9)) + "\r\n"
    '"hello __eou__ __eot__ hi __eou__ __eot__",how are you ? __eou__ fine ? __eou__,'
    + ",".join(f"other {n} __eou__" for n in range(9))
    + "\r\n"
)
UBUNTU = {"speakers": ("participant_1", "participant_2")}
ADVISING = {"speakers": ("student", "advisor")}
MSR_HEAD = ("session.ID", "Message.ID", "Message.Timestamp", "Message.From", "Message.Text", "Annotation_Result")
QA = {"questionType": "yes/no", "asin": "B0", "answerTime": "May 1, 2014", "unixTime": 1, "answerType": "Y"}

# Corpus -> path below the top folder -> content.
WHOLE: dict[str, dict[str, object]] = {
    "taskmaster1": {
        "TM-1-2019/self-dialogs.json": [
            taskmaster("dlg-1", "A pizza.", "Which?", instruction_id="pizza-ordering-2"),
            taskmaster("dlg-2", "A car.", "(deleted)", "To town.", "Fine.", instruction_id="uber-lyft-1"),
            taskmaster("dlg-3", "Two seats.", "When?", instruction_id="movie-tickets-1"),
        ],
        "TM-1-2019/woz-dialogs.json": [taskmaster("dlg-1", "Coffee.", "Hot?", instruction_id="coffee-ordering-1")],
        "TM-1-2019/train-dev-test/train.csv": "dlg-1,\n",
        "TM-1-2019/train-dev-test/dev.csv": "dlg-2,\n",
        "TM-1-2019/train-dev-test/test.csv": "dlg-3,\n",
        "TM-1-2019/sample.json": {"conversation_id": "dlg-0"},
        "TM-1-2019/ontology.json": {},
    },
    "taskmaster2": {
        f"TM-2-2020/data/{domain}.json": [taskmaster("dlg-1", f"About {domain}.", "Yes?", instruction_id=f"{domain}-1")]
        for domain in ("flights", "food-ordering", "hotels", "movies", "music", "restaurant-search", "sports")
    },
    "taskmaster3": {
        f"TM-3-2020/data/data_{number:02}.json": [
            taskmaster(
                f"dlg-{number}", f"Ticket {number}.", "When?", speakers=("user", "assistant"), vertical="Movie Tickets"
            )
        ]
        for number in range(20)
    },
    "taskmaster4": {
        f"TM-4-2024/data/data_{number:02}.json": [
            taskmaster(f"dlg-{number}", "A latte.", "Sure.", speakers=("user", "assistant"), vertical="Coffee")
        ]
        for number in range(2)
    },
    "woz": {
        f"data/woz/woz_{part}_{language}.json": [woz(number, ("", "Food?"), ("Which area?", "North."))]
        for number, part in enumerate(("train", "validate", "test"))
        for language in ("en", "de")
    },
    "camrest676": {
        "data/CamRest676.json": "#####\n#  Copyright  #\n#####\n"
        + json.dumps([camrest(0, ("Cheap food?", "Which area?"), ("North.", "The Oak."))]),
        "db/CamRest.json": [],
    },
    "smd": {
        **{
            f"kvret_{split}_public.json": [kvret("weather", "Rain?", "No."), kvret("navigate", "Home.", "Ten minutes.")]
            for split in ("train", "dev", "test")
        },
        "kvret_entities.json": {},
    },
    "frames": {"frames.json": [frames("f1", "To Rome.", "When?", "In May."), frames("f2", "Cheap?", "Yes.")]},
    "gsim": {
        f"data/sim-{letter}/{split}.json": [gsim("d_1", "hi , 3 tickets .", "which film ?", "any .")]
        for letter in "MR"
        for split in ("train", "dev", "test")
    },
    "msr_e2e": {
        f"data/{domain}_all.tsv": tabs(
            MSR_HEAD,
            (1, 1, "2016-03-10T03:42:09.141Z", "user", f"One {domain} please", "request(x)"),
            (1, 2, "2016-03-10T03:42:11.889Z", "agent", '"Where, and ""when""?"', "request(date)", "other()"),
            (2, 1, "2016-03-10T03:42:09.141Z", "user", "Hello"),
        )
        for domain in ("movie", "restaurant", "taxi")
    },
    "dstc2": {
        **dstc2_call("Mar13_S0A0/voip-1", ("Welcome.", "cheap food"), ("Where?", "north")),
        **dstc2_call("Mar13_S1A0/voip-2", ("Welcome.", ""), ("Sorry?", "bye")),
        **dstc2_call("Mar13_S2A0/voip-1", ("Hello.", "thai")),
        "scripts/config/dstc2_train.flist": "Mar13_S0A0/voip-1\n",
        "scripts/config/dstc2_dev.flist": "Mar13_S1A0/voip-2\n",
        "scripts/config/dstc2_test.flist": "Mar13_S2A0/voip-1\n",
    },
    "ubuntu_v2": {"train.csv": TRAIN_CSV, "valid.csv": CHOICE_CSV, "test.csv": CHOICE_CSV},
    "dstc7_ubuntu": {
        "ubuntu_train_subtask_1.json": [dstc7(1, 0, "a ?", "b", "c ?", **UBUNTU), dstc7(2, 2, "d ?", "e", **UBUNTU)],
        "ubuntu_dev_subtask_1.json": [dstc7(3, 3, "f ?", **UBUNTU)],
        "ubuntu_test_subtask_1.json": [dstc7(4, None, "g ?", **UBUNTU)],
        "ubuntu_responses_subtask_1.tsv": tabs((4, "C41", "reply 4 1")),
        "ubuntu_train_subtask_1_augmented.json": [dstc7(9, 0, "z ?", **UBUNTU)],
    },
    "dstc7_advising": {
        "advising_train_subtask_1.json": [dstc7(1, 1, "a ?", **ADVISING)],
        "advising_dev_subtask_1.json": [dstc7(2, 1, "b ?", **ADVISING)],
        "advising_test_subtask_1_case_1.json": [dstc7(3, None, "c ?", **ADVISING)],
        "advising_test_subtask_1_case_2.json": [dstc7(3, None, "d ?", **ADVISING)],
        "advising_responses_subtask_1_case_1.tsv": tabs((3, "C30", "reply 3 0")),
        "advising_responses_subtask_1_case_2.tsv": tabs((3, "C32", "reply 3 2")),
    },
    "amazon_qa": {
        "qa_Appliances.json": f"{QA | {'question': 'Does it' + chr(39) + 's cord reach?', 'answer': 'Yes, 2 m.'}}\n",
        "qa_Baby.json": json.dumps(QA | {"question": "Is it soft?", "answer": "Very."}) + "\n",
    },
    "jddc": {
        "chat.txt": tabs(
            ("session_id", "user_id", "waiter_send", "is_transfer", "is_repeat", "content"),
            ("s1", "u1", 0, 0, 0, "你好"),
            ("s1", "u1", 1, 0, 0, "您好\t请讲"),
            ("s2", "u2", 0, 0, 0, "退货"),
        )
    },
    "ecd": {
        "train.txt": tabs((1, "有 货 吗", "有 的", "好"), (0, "有 货 吗", "有 的", "不 是")),
        "dev.txt": tabs((0, "多少 钱", "十 块"), (1, "多少 钱", "五 块")),
        "test.txt": tabs(*((int(n == 7), "发 什么 快递", f"回复 {n}") for n in range(10))),
    },
}
# Corpus -> dialogues of train, dev and test and without split, read from `WHOLE`.
COUNTS: dict[str, tuple[int, int, int, int]] = {
    "taskmaster1": (2, 1, 1, 0),
    "taskmaster2": (0, 0, 0, 7),
    "taskmaster3": (0, 0, 0, 20),
    "taskmaster4": (0, 0, 0, 2),
    "woz": (1, 1, 1, 0),
    "camrest676": (0, 0, 0, 1),
    "smd": (2, 2, 2, 0),
    "frames": (0, 0, 0, 2),
    "gsim": (2, 2, 2, 0),
    "msr_e2e": (0, 0, 0, 6),
    "dstc2": (1, 1, 1, 0),
    "ubuntu_v2": (2, 1, 1, 0),
    "dstc7_ubuntu": (2, 1, 1, 0),
    "dstc7_advising": (1, 1, 2, 0),
    "amazon_qa": (0, 0, 0, 2),
    "jddc": (0, 0, 0, 2),
    "ecd": (1, 1, 1, 0),
}


def encoded(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode()


def pack(folder: Path, files: Mapping[str, object], *, form: str = "folder", top: str = "name-main/") -> Path:
    """Write files as one archive with a top folder, or unpacked, without those that are None; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: encoded(content) for name, content in files.items() if content is not None}
    if form == "zip":
        with zipfile.ZipFile(folder / "corpus.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(top + name, content)
    elif form == "tar.gz":
        with tarfile.open(folder / "corpus.tar.gz", "w:gz") as tar:
            for name, content in contents.items():
                info = tarfile.TarInfo(top + name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    else:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return folder


def read(
    name: str, folder: Path, changes: Mapping[str, object] | None = None, *, form: str = "folder"
) -> tuple[list[Dialogue], list[Quarantined]]:
    """Pack the fixture of a corpus with changed files (None leaves a file out) and read it."""
    return read_corpus(CORPORA[name](), pack(folder / name, {**WHOLE[name], **(changes or {})}, form=form))
