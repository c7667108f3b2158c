"""Conversations stored as trees of messages, as ChatGPT exports them."""

from __future__ import annotations

from typing import Any


def is_tree(value: Any) -> bool:
    """Return whether a value is a tree: objects by id, each with the keys `parent` and `message`."""
    return isinstance(value, dict) and bool(value) and all(map(_is_node, value.values()))


def _is_node(node: Any) -> bool:
    return isinstance(node, dict) and {"parent", "message"} <= node.keys()


def straightened(values: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a record with a list of turns in place of each tree, and the number of messages on other branches.

    The turns are those of the branch that ends in `current_node`, or in the last leaf without that key.
    """
    trees = [name for name, value in values.items() if is_tree(value)]
    left_out = 0
    for name in trees:
        nodes = values[name]
        path = _path(nodes, values.get("current_node"))
        messages = [node["message"] for node in path if isinstance(node["message"], dict)]
        left_out += sum(isinstance(node["message"], dict) for node in nodes.values()) - len(messages)
        # The tree gives the order, because times may be missing.
        values = values | {name: [{"turn_index": at, **message} for at, message in enumerate(messages)]}
    return values, left_out


def _path(nodes: dict[str, Any], last: Any) -> list[dict[str, Any]]:
    """Return the nodes from the root to `last`."""
    parents = {node["parent"] for node in nodes.values() if isinstance(node["parent"], str)}
    if not isinstance(last, str) or last not in nodes:
        last = next((name for name in reversed(nodes) if name not in parents), None)
    path: dict[str, dict[str, Any]] = {}
    while isinstance(last, str) and last in nodes and last not in path:
        path[last] = nodes[last]
        last = nodes[last]["parent"]
    return list(reversed(path.values()))
