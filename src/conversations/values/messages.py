"""Messages in what was sent to a model and in what came back, in any of the forms of providers and tracing tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.values.cells import DEPTH, as_name, cell_text, unpacked
from conversations.vocabulary import by_word, word_list, word_set

ROLES = by_word("messages", "roles")
ROLE_KEYS = word_list("messages", "role_keys")
INNER = word_list("messages", "inner")
CONTENTS = word_list("messages", "contents")
BEFORE = word_list("messages", "before")
CONTAINERS = word_list("messages", "containers")
PIECES = word_set("messages", "pieces")
PIECE_TEXTS = word_list("messages", "piece_texts")
# Roles of messages that are no speech.
UNSAID = ("system", "tool")
# Kinds of parts, by the beginnings of their types and by keys.
KINDS = {"tool": word_list("messages", "tools"), "thought": word_list("messages", "thoughts")}
KIND_KEYS = {"tool": word_list("messages", "tool_keys"), "thought": word_list("messages", "thought_keys")}
Message = dict[str, str]


def messages(value: Any, role: str, *, depth: int = DEPTH) -> list[Message]:
    """Return the messages in a value, each with `role`, `text`, and `kind`, which is "" for what was said.

    :param value: A text, a message, a list, an object that holds them such as a provider's answer, or one as JSON.
    :param role: Role of a text or message that names none.
    :param depth: Levels of nesting to look into.
    """
    value = _items(decoded(value))
    objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if any(map(_is_piece, objects)) and not any(map(_role, objects)):
        return list(_of_message({"content": value}, role))
    if isinstance(value, list):
        return [message for item in value for message in messages(item, role, depth=depth - 1)] if depth else []
    if not isinstance(value, dict):
        return _one(role, "" if isinstance(value, bool) else cell_text(value))
    # OpenInference puts the name of the object before its keys.
    value = {key.removeprefix("message."): inner for key, inner in value.items()}
    own = _role(value)
    # The arguments of a function have names, too.
    keys = [key for key in INNER if own or key not in ("data", "kwargs")]
    inner = next((inner for key in keys if isinstance(inner := decoded(value.get(key)), dict)), None)
    if inner is not None and depth:
        return messages(inner, own or role, depth=depth - 1)
    if own or _kind(value):
        return list(_of_message(value, own or role))
    keys = [key for key in BEFORE if value.get(key)] if depth else []
    keys += [key for key in CONTAINERS if value.get(key)][: min(depth, 1)]
    roles = {key: "system" for key in BEFORE if "history" not in key}
    return [message for key in keys for message in messages(value[key], roles.get(key, role), depth=depth - 1)]


def exchange(asked: Any, answered: Any, answerer: str) -> list[Message]:
    """Return the messages of a request and of its answer; an answer that holds the request, as a state does, is alone.

    :param answerer: Role of an answer that names none, to a question that is a text.
    """
    asked, answered = _alone(asked), _alone(answered)
    before = messages(asked, "user")
    after = messages(answered, answerer if isinstance(asked, str) else "assistant")
    own, rest = [message for message in before if not message["kind"]], iter(after)
    return after if own and all(message in rest for message in own) else before + after


def _alone(value: Any) -> Any:
    """Return the text that is all that an object holds, such as the only argument of a function, under any name."""
    value = decoded(value)
    texts = list(value.values()) if isinstance(value, dict) else []
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else value


def decoded(value: Any) -> Any:
    """Return the value of a JSON text, which may be encoded several times; any other value unchanged."""
    for _ in range(3):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", '"'):
            break
        inner = unpacked(value)
        # "[1]" may be what somebody said.
        items = inner if isinstance(inner, list) else [{}]
        if inner is None or not any(isinstance(item, dict | list) or str(item)[:1] == "{" for item in items):
            break
        value = inner
    return value


def _items(value: Any) -> Any:
    """Return an object whose keys are the numbers of items as a list; any other value unchanged."""
    if isinstance(value, dict) and value and all(map(str.isdecimal, value)):
        return [value[key] for key in sorted(value, key=int)]
    return value


def _role(value: dict[str, Any]) -> str:
    """Return who speaks in a message; "" if the object names nobody."""
    names = [name for key in ROLE_KEYS if isinstance(name := value.get(key), str)]
    if isinstance(path := value.get("id"), list) and path:
        # Class of a serialised object of LangChain.
        names.append(str(path[-1]))
    # An event's name is "gen_ai.user.message".
    known = (ROLES[word] for name in names for word in (name, *name.split(".")) if word in ROLES)
    return next(known, "") or (as_name(value.get("role")) if any(map(value.get, CONTENTS)) else "")


def _is_piece(value: dict[str, Any]) -> bool:
    """Return whether an object is a part of a message."""
    return not _role(value) and (bool(_kind(value)) or value.get("type") in PIECES)


def _kind(value: dict[str, Any]) -> str:
    """Return why a message or a part of one was not said; "" if it was."""
    form = as_name(value.get("type") or value.get("part_kind"))
    for kind, beginnings in KINDS.items():
        if form.startswith(beginnings) or (not form and any(map(value.get, KIND_KEYS[kind]))):
            return kind
    return "thought" if value.get("thought") is True else ""


def _of_message(value: dict[str, Any], role: str) -> Iterator[Message]:
    content = _items(next((content for key in CONTENTS if (content := value.get(key))), None))
    if isinstance(content, str) and content.startswith(('[{"', "[{'")):
        content = decoded(content)
    pieces = content if isinstance(content, list) else [content]
    pieces = [piece.get("message_content", piece) if isinstance(piece, dict) else piece for piece in pieces]
    whole = role if role in UNSAID else "" if _role(value) else _kind(value)
    texts = []
    for piece in pieces:
        kind = whole or (_kind(piece) if isinstance(piece, dict) else "")
        if kind:
            yield {"role": role, "text": _text(piece), "kind": kind}
        else:
            texts.append(_text(piece))
    yield from _one(role, "\n".join(filter(None, texts)))
    for kind, keys in KIND_KEYS.items():
        if not whole and any(map(value.get, keys)):
            yield {"role": role, "text": next(cell_text(value[key]) for key in keys if value.get(key)), "kind": kind}


def _text(piece: Any) -> str:
    """Return the text of a part of a message; "" if it has none."""
    if isinstance(piece, dict):
        return next((cell_text(text) for key in PIECE_TEXTS if (text := piece.get(key))), "")
    return cell_text(piece)


def _one(role: str, text: str) -> list[Message]:
    return [{"role": role, "text": text, "kind": role if role in UNSAID else ""}] if text.strip() else []
