// Classes, ports, drops and services as tables.

import { short, whole } from "./rates.js";

function element(name, { text, className, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const cell = (text, className) => element("td", { text, className });
const number = (text, isBad) => cell(text, isBad ? "number bad" : "number");

/** A table with its heads, of which those after `#` are of numbers; or a note where there are no rows. */
function fill(place, caption, heads, rows, note) {
  if (rows.length === 0) {
    place.replaceChildren(element("p", { text: note, className: "note" }));
    return;
  }
  const head = heads.map((text) =>
    element("th", { text: text.replace("#", ""), className: text.startsWith("#") ? "number" : "", scope: "col" }),
  );
  place.replaceChildren(
    element(
      "table",
      {},
      element("caption", { text: caption, className: "caption" }),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    ),
  );
}

/** The share of the whole that a class used, as a bar. */
function bar(part) {
  const inner = element("span");
  inner.style.width = `${Math.min(100, 100 * part).toFixed(1)}%`;
  return element("span", { className: "usage", "aria-hidden": "true" }, inner);
}

const UNITS = { count: "turns", cycle: "cycles", packet: "packets", bit: "bits" };

/** What the parent asks of the class, or what the class itself asks. */
function rule(one) {
  const place = one.priority !== null ? `priority ${one.priority}` : one.share !== null ? `share ${one.share}` : "";
  const own =
    one.policy === "rate_limit"
      ? one.limit === null
        ? "no limit"
        : `at most ${short(one.limit)} ${UNITS[one.resource] ?? ""}/s`
      : one.policy === "weighted_fair"
        ? `by ${UNITS[one.resource] ?? one.resource}`
        : "";
  return [place, own].filter(Boolean).join(", ");
}

/** Classes in the order of their trees, each with its depth. */
function trees(classes) {
  const below = new Map();
  for (const one of classes) {
    const key = `${one.wid}\0${one.parent}`;
    below.set(key, [...(below.get(key) ?? []), one]);
  }
  const listed = [];
  const walk = (one, depth) => {
    listed.push([one, depth]);
    for (const child of below.get(`${one.wid}\0${one.name}`) ?? []) walk(child, depth + 1);
  };
  classes.filter((one) => one.parent === "").forEach((root) => walk(root, 0));
  return listed;
}

export function showClasses(place, state, rates) {
  const roots = new Map(
    state.classes.filter((one) => one.parent === "").map((one) => [one.wid, rates.classes.get(rates.class(one))]),
  );
  const rows = trees(state.classes).map(([one, depth]) => {
    const used = rates.classes.get(rates.class(one)) ?? {};
    const whole = roots.get(one.wid)?.cycles;
    const part = whole > 0 && used.cycles !== undefined ? used.cycles / whole : undefined;
    const isLeaf = one.module !== "";
    const name = element("td", { className: depth === 0 ? "tree root" : "tree" });
    name.style.setProperty("--depth", depth);
    name.append(isLeaf ? `${one.module}${one.task > 0 ? `:${one.task}` : ""}` : one.name);
    const share = element("td", {});
    if (part !== undefined) share.append(bar(part), `${(100 * part).toFixed(1)} %`);
    return element(
      "tr",
      {},
      name,
      cell(isLeaf ? "task" : one.policy.replace("_", " ")),
      cell(rule(one)),
      cell(`worker ${one.wid}`),
      share,
      number(`${short(used.packets)}/s`),
      number(`${short(used.bits)}bit/s`.replace(/(\d)bit/, "$1 bit")),
      number(used.throttled > 0 ? `${short(used.throttled)}/s` : "0", used.throttled > 0),
    );
  });
  const heads = ["Class", "Policy", "Rule", "Where", "Time", "#Packets", "#Bits", "#Held back"];
  fill(place, "Traffic classes", heads, rows, "No classes: no worker runs yet.");
}

export function showPorts(place, state, rates) {
  const rows = state.ports.map((port) => {
    const now = rates.ports.get(port.name);
    const bits = (way) => (now[way].bytes === undefined ? undefined : now[way].bytes * 8);
    const lost = port.received.dropped + port.sent.dropped;
    return element(
      "tr",
      {},
      cell(port.name),
      cell(port.driver),
      number(`${short(now.received.packets)}/s`),
      number(`${short(bits("received"))}bit/s`.replace(/(\d)bit/, "$1 bit")),
      number(`${short(now.sent.packets)}/s`),
      number(`${short(bits("sent"))}bit/s`.replace(/(\d)bit/, "$1 bit")),
      number(whole(lost), lost > 0),
    );
  });
  fill(place, "Ports", ["Port", "Driver", "#In", "#", "#Out", "#", "#Dropped"], rows, "No ports.");
}

export function showDrops(place, state, rates) {
  const list = state.modules.flatMap((module) =>
    Object.entries(module.drops).map(([reason, count]) => ({
      module,
      reason,
      count,
      rate: rates.modules.get(module.name).drops[reason],
    })),
  );
  list.sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0) || b.count - a.count);
  const rows = list.map(({ module, reason, count, rate }) =>
    element("tr", {}, cell(module.name), cell(reason), number(`${short(rate)}/s`, rate > 0), number(whole(count))),
  );
  fill(place, "Drops", ["Module", "Why", "#Now", "#So far"], rows, "Nothing was dropped.");
}

export function showServices(panel, place, state) {
  panel.hidden = state.services.length === 0;
  const rows = state.services.map((service) =>
    element(
      "tr",
      {},
      cell(service.name),
      cell(service.kind),
      cell(service.reason ? `${service.state}: ${service.reason}` : service.state, service.state === "failed" ? "bad" : ""),
      cell(service.listens.join(", ")),
    ),
  );
  fill(place, "Services", ["Service", "Kind", "State", "Listens"], rows, "");
}
