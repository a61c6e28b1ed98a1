// Asks for the state once a second and shows what changed.

import { Graph } from "./graph.js";
import { ratesOf, short } from "./rates.js";
import { showClasses, showDrops, showPorts, showServices } from "./tables.js";

const EVERY_MS = 1000;
const at = (id) => document.getElementById(id);

let last;
let rates;
const graph = new Graph(at("graph"), showDetails);

function showSummary(state) {
  const sum = (list) => list.reduce((total, one) => (one === undefined ? total : (total ?? 0) + one), undefined);
  const entered = new Set(state.drawing.links.map((link) => link.to));
  const begins = new Set(state.modules.filter((module) => !entered.has(module.name)).map((module) => module.name));
  const made = sum(state.gates.filter((gate) => begins.has(gate.module)).map((gate) => rates.gates.get(rates.gate(gate)).packets));
  const lost = sum(
    state.modules
      .filter((module) => module.class !== "Sink")
      .flatMap((module) => Object.values(rates.modules.get(module.name).drops)),
  );
  const running = state.workers.filter((worker) => worker.is_running).length;
  const tiles = [
    ["Packets into the graph", made === undefined ? "–" : `${short(made)}/s`],
    ["Packets dropped", `${short(lost ?? 0)}/s`, lost > 0],
    ["Modules", String(state.modules.length)],
    ["Ports", String(state.ports.length)],
    ["Workers", running === state.workers.length ? String(running) : `${running} of ${state.workers.length}`],
  ];
  at("summary").replaceChildren(
    ...tiles.map(([name, value, isBad]) => {
      const tile = document.createElement("div");
      const [term, said] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      said.textContent = value;
      said.classList.toggle("bad", Boolean(isBad));
      tile.append(term, said);
      return tile;
    }),
  );
}

/** What there is to say of the module that is chosen. */
function showDetails(name = graph.chosen) {
  const panel = at("details");
  const module = last?.modules.find((one) => one.name === name);
  panel.hidden = !module;
  if (!module) return;
  const now = rates.modules.get(name);
  const parts = [];
  const say = (what, value) => {
    const span = document.createElement("span");
    const bold = document.createElement("b");
    bold.textContent = value;
    span.append(`${what} `, bold);
    parts.push(span);
  };
  const title = document.createElement("h3");
  title.textContent = `${module.name} · ${module.class}${module.description ? ` · ${module.description}` : ""}`;
  say("in", `${short(now.packets)} packets/s`);
  for (const gate of last.gates.filter((one) => one.module === name)) {
    const link = last.drawing.links.find((one) => one.from === name && one.ogate === gate.gate);
    const where = link ? ` → ${link.to}` : " → nowhere";
    say(`gate ${gate.gate}${where}`, `${short(rates.gates.get(rates.gate(gate)).packets)} packets/s`);
  }
  for (const [reason, count] of Object.entries(module.drops)) say(`dropped, ${reason}`, `${short(count)} (${short(now.drops[reason])}/s)`);
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => graph.choose(undefined));
  const focused = panel.contains(document.activeElement);
  panel.replaceChildren(title, ...parts, close);
  if (focused) close.focus();
}

function show(state) {
  rates = ratesOf(state, last);
  last = state;
  at("version").textContent = state.version;
  document.title = `${state.modules.length} modules · Tidegate`;
  showSummary(state);
  graph.show(state, rates);
  showClasses(at("classes"), state, rates);
  showPorts(at("ports"), state, rates);
  showDrops(at("drops"), state, rates);
  showServices(at("services-panel"), at("services"), state);
  showDetails();
  document.body.dataset.states = Number(document.body.dataset.states ?? 0) + 1;
}

function tell(text, className) {
  const status = at("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = className;
}

async function ask() {
  try {
    const answer = await fetch("/state.json", { cache: "no-store", signal: AbortSignal.timeout(10_000) });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const state = await answer.json();
    // The same moment twice makes no rate.
    if (last && state.monotonic_s === last.monotonic_s) return;
    show(state);
    tell("Live", "live");
  } catch (error) {
    tell(error instanceof TypeError ? "The daemon does not answer; asking again" : `No news: ${error.message}`, "lost");
  }
}

async function go() {
  if (!document.hidden) await ask();
  setTimeout(go, EVERY_MS);
}

at("fit").addEventListener("click", () => graph.fit());
at("larger").addEventListener("click", () => graph.zoom(1));
at("smaller").addEventListener("click", () => graph.zoom(-1));
at("find").addEventListener("input", (event) => graph.find(event.target.value));
at("graph").addEventListener("keydown", (event) => {
  if (event.key === "+" || event.key === "=") graph.zoom(1);
  else if (event.key === "-") graph.zoom(-1);
  else if (event.key === "0") graph.fit();
});
window.addEventListener("resize", () => graph.fits && graph.fit());
document.addEventListener("visibilitychange", () => document.hidden || ask());
go();
