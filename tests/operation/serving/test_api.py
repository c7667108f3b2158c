"""What the server tells about itself: metrics, readiness, its description and the page."""

from __future__ import annotations

import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dial2vec.config import Serve
from dial2vec.operation.serving.openapi import description

HELLO = {"turns": [{"speaker": "a", "text": "w1 w2"}, {"speaker": "b", "text": "w3"}]}


def inputs(*dialogues: object) -> bytes:
    return json.dumps({"inputs": dialogues}).encode()


def figures(ask, gate) -> dict[tuple[str, ...], float]:
    """Return the value of each figure by its name and the values of its labels."""
    text = ask(gate, path="/metrics", method="GET").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_metrics_count_requests_refusals_batches_and_tokens(gate, ask):
    made = gate()
    tokens = ask(made, b'{"input": ["w1 w2", "w3"]}', path="/v1/embeddings").json()["usage"]["total_tokens"]
    ask(made, inputs(HELLO))
    ask(made, b"?")
    ask(made, path="/elsewhere", method="GET")
    ask(made, path="/version", method="GET", host="evil.example")
    found = figures(ask, made)
    assert found["dial2vec_requests_total", "/invocations", "200"] == 1
    assert found["dial2vec_requests_total", "/invocations", "400"] == 1
    assert found["dial2vec_requests_total", "other", "404"] == 1
    assert found["dial2vec_request_seconds_count", "/v1/embeddings"] == 1
    refused = {key[1]: value for key, value in found.items() if key[0] == "dial2vec_refusals_total"}
    assert refused == {"json": 1, "not_found": 1, "host": 1}
    assert found["dial2vec_batch_seconds_count",] == 2
    assert found["dial2vec_batch_requests_sum",] == 2
    assert found["dial2vec_tokens_total",] == found["dial2vec_batch_tokens_sum",] > tokens > 3
    assert found["dial2vec_dialogues_total",] == 3
    assert found["dial2vec_waiting_requests",] == 0
    assert found["process_resident_memory_bytes",] > 1e6


def test_metrics_name_the_served_version(gate, ask):
    text = ask(gate(), path="/metrics", method="GET").text
    [info] = re.findall(r"^dial2vec_model_info\{(.*)\} 1.0$", text, re.MULTILINE)
    assert 'model="dial2vec-demo"' in info
    assert 'version="1"' in info


def test_a_server_that_leaves_lives_but_is_not_ready(gate, ask):
    made = gate()
    for path in ("/livez", "/readyz", "/health", "/ping"):
        assert ask(made, path=path, method="GET").status_code == 200
    made.leaving = True
    assert ask(made, path="/livez", method="GET").status_code == 200
    done = ask(made, path="/readyz", method="GET")
    assert (done.status_code, done.headers["retry-after"]) == (503, "1")


def test_head_is_answered_as_get(gate, ask):
    assert ask(gate(), path="/readyz", method="HEAD").status_code == 200


def test_the_description_has_every_path_and_the_limits(gate, ask):
    made = gate(max_dialogues=7)
    api = ask(made, path="/openapi.json", method="GET").json()
    assert set(api["paths"]) | {"/", "/v1/models/dial2vec-demo"} == set(made.handlers)
    for path, operations in api["paths"].items():
        assert set(operations) == {made.handlers[path][0].lower()}
    assert api["components"]["schemas"]["Invocation"]["properties"]["inputs"]["maxItems"] == 7


def test_every_schema_that_is_named_exists():
    api = description(Serve())
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(api)))
    assert named == set(api["components"]["schemas"])


def test_the_examples_are_answered(gate, ask):
    for path, operations in description(Serve())["paths"].items():
        if example := operations.get("post", {}).get("requestBody"):
            body = json.dumps(example["content"]["application/json"]["example"]).encode()
            assert ask(gate(), body, path=path).status_code == 200


@pytest.mark.parametrize("path", ["/v1/embeddings", "/invocations", "/readyz"])
def test_the_page_has_a_line_to_try_for_each_path_at_the_address_where_it_was_found(gate, ask, path):
    text = ask(gate(), path="/", method="GET", host="localhost:7007").text
    assert f"curl http://localhost:7007{path}" in text
    assert "300,000" in text
    assert "4 MB" in text
