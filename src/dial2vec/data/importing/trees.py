"""Conversations that are stored as trees of nodes, each message under the one before it, as ChatGPT exports them."""

from __future__ import annotations

from typing import Any


def is_tree(value: Any) -> bool:
    """Whether a value is a tree: objects by their ids, each with a parent and a message."""
    return isinstance(value, dict) and bool(value) and all(map(_is_node, value.values()))


def _is_node(node: Any) -> bool:
    return isinstance(node, dict) and {"parent", "message"} <= node.keys()


def straightened(values: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a record with each tree in it as a list of turns, and how many messages lie on other branches.

    The branch is the one that ends in `current_node`; without that it is the one of the last leaf.
    """
    trees = [name for name, value in values.items() if is_tree(value)]
    aside = 0
    for name in trees:
        nodes = values[name]
        path = _path(nodes, values.get("current_node"))
        messages = [node["message"] for node in path if isinstance(node["message"], dict)]
        aside += sum(isinstance(node["message"], dict) for node in nodes.values()) - len(messages)
        # The tree is the order: its times may be missing.
        values = values | {name: [{"turn_index": at, **message} for at, message in enumerate(messages)]}
    return values, aside


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
