// @ts-check
// Asks for the label of one dialogue after another, by buttons or by their keys.
export {};

const element = (id) => document.getElementById(id);
const made = (tag, values, ...children) => {
  const one = Object.assign(document.createElement(tag), values);
  one.append(...children);
  return one;
};

const asked = async (address, body) => {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(address, options).catch(() => {
    throw new Error("`dial2vec lens` has ended; every answer before is kept. Start it again to go on.");
  });
  const given = await answer.json();
  if (!answer.ok) throw new Error(given.message);
  return given;
};

const { labels, dialogues } = await asked("questions");
// The last label is "none", which has the key 0.
const keys = labels.map((_, number) => String((number + 1) % labels.length));
let place = Math.max(0, dialogues.findIndex(({ label }) => label === null));
let busy = false;

const answered = () => dialogues.filter(({ label }) => label !== null).length;

const show = () => {
  const dialogue = dialogues[place];
  element("place").textContent = dialogue
    ? `${place + 1} of ${dialogues.length} · ${dialogue.dialogue_id}`
    : `${answered()} of ${dialogues.length} have a label. Finish, and the command learns from them.`;
  const [first] = dialogue?.turns[0] ?? [];
  element("turns").replaceChildren(...(dialogue?.turns ?? []).map(([speaker, text]) =>
    made("li", { className: speaker === first ? "" : "other" }, made("small", { textContent: speaker }), text)));
  const choices = labels.map((label, number) => button(label, keys[number], () => answer(label), {
    disabled: !dialogue, ariaPressed: String(dialogue?.label === label),
  }));
  element("keys").replaceChildren(
    ...choices,
    button("Skip", "s", () => go(1), { className: "act", disabled: !dialogue }),
    button("Undo", "u", undo, { className: "act", disabled: !place }),
    button("Finish", "q", finish, { className: "act" }),
  );
  scrollTo(0, 0);
};

const button = (title, key, act, values) => {
  const one = made("button", { type: "button", onclick: () => tried(act), ...values }, title, " ", made("kbd", { textContent: key }));
  one.setAttribute("aria-keyshortcuts", key);
  return one;
};

const go = (step) => {
  place += step;
  show();
};

const answer = async (label) => {
  await asked("answer", { place, label });
  dialogues[place].label = label;
  go(1);
};

const undo = async () => {
  await asked("answer", { place: place - 1, label: null });
  dialogues[place - 1].label = null;
  go(-1);
};

const finish = async () => {
  await asked("answer", { done: true });
  element("place").textContent = `Labels kept: ${answered()}. The terminal shows what was learnt. Close this page.`;
  element("turns").replaceChildren();
  element("keys").replaceChildren();
};

// One act at a time: two quick keys would otherwise label the same dialogue twice.
const tried = async (act) => {
  if (busy) return;
  busy = true;
  try {
    await act();
    element("wrong").hidden = true;
  } catch (error) {
    element("wrong").textContent = error.message;
    element("wrong").hidden = false;
  } finally {
    busy = false;
  }
};

document.addEventListener("keydown", ({ key, ctrlKey, metaKey, altKey, repeat }) => {
  if (ctrlKey || metaKey || altKey || repeat) return;
  const one = element("keys").querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]:not(:disabled)`);
  if (one instanceof HTMLButtonElement) one.click();
});

show();
