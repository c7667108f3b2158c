// @ts-check
"use strict";
// The state of the page as the part of its address after "#", so that a view can be sent.

const PANELS = ["topics", "map", "dialogues", "filters"], WAYS = ["auto", "moments", "themes", "exact"];

// What the page shows at first.
const START = {
  panel: "topics", topic: null, query: null, filters: {}, span: null, colour: null, map: 0, view: null, open: null,
};

// The address of a state. groups: the lists of areas, topics and fine topics, whose ids outlast their order.
function linkOf(state, groups) {
  const parts = new URLSearchParams(), { topic, query, span, view, open } = state;
  if (state.panel !== START.panel) parts.set("panel", state.panel);
  if (topic && groups) parts.set("topic", `${topic[0]}.${groups[topic[0]][topic[1]].id}`);
  if (query?.text) parts.set("q", query.text);
  if (query && query.way !== "auto") parts.set("way", query.way);
  if (query?.like != null) parts.set("like", query.like);
  for (const id of query?.unlike ?? []) parts.append("unlike", id);
  for (const [title, names] of Object.entries(state.filters)) for (const name of names) parts.append(`f.${title}`, name);
  if (span) parts.set("span", span.join("/"));
  if (state.colour !== null) parts.set("colour", state.colour);
  if (state.map) parts.set("map", state.map);
  if (view) parts.set("view", view.map((number) => Number(number.toPrecision(5))).join(","));
  if (open) parts.set("open", open[0]);
  if (open && open[1] >= 0) parts.set("turn", open[1]);
  return parts.toString();
}

// The state of an address; what an address says wrongly is left out.
function stateOf(link, groups) {
  // Without a prototype, because a key of the metadata may have any name, such as "constructor".
  const parts = new URLSearchParams(link), state = { ...START, filters: Object.create(null) };
  const known = (name, values, otherwise) => (values.includes(parts.get(name)) ? parts.get(name) : otherwise);
  state.panel = known("panel", PANELS, START.panel);
  state.topic = topicOf(parts.get("topic") ?? "", groups);
  const text = parts.get("q") ?? "", like = parts.get("like"), unlike = parts.getAll("unlike");
  if (text || like !== null) state.query = { text, way: known("way", WAYS, "auto"), like, unlike };
  for (const [name, value] of parts) if (name.startsWith("f.")) (state.filters[name.slice(2)] ??= []).push(value);
  const span = (parts.get("span") ?? "").split("/");
  if (span.length === 2 && span.every((date) => /^\d{4}-\d\d-\d\d$/.test(date))) state.span = span;
  state.colour = parts.get("colour");
  state.map = parts.get("map") === "1" ? 1 : 0;
  const view = (parts.get("view") ?? "").split(",").map(Number);
  if (view.length === 3 && view.every(Number.isFinite)) state.view = view;
  const open = parts.get("open"), turn = Number(parts.get("turn") ?? -1);
  if (open !== null) state.open = [open, Number.isInteger(turn) ? turn : -1];
  return state;
}

function topicOf(text, groups) {
  const [level, id] = text.split(".").map(Number), place = groups?.[level]?.findIndex((group) => group.id === id) ?? -1;
  return place < 0 ? null : [level, place];
}
