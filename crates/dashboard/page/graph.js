// The graph as an SVG: built when its shape changes, its rates written anew with each state.

import { short } from "./rates.js";

const SPACE = 26;
const SCROLLBAR = 18;
const SCALES = [0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1, 1.2, 1.5];
/** A side with more lines has no room for their gates' numbers: the details name them. */
const GATES_NAMED = 6;
/** Smaller than this, nothing is read: a larger graph is scrolled. */
const SCALE_LEGIBLE = 0.6;

function make(name, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Where packets begin, end, wait or pass the house's door. */
function kindOf(module) {
  if (/^(Port|Queue)(Inc|Out)$/.test(module.class)) return "port";
  if (/^(Source|FlowGen)$/.test(module.class)) return "source";
  if (/^(Sink|Dump)$/.test(module.class)) return "sink";
  if (/^(Queue|DRR|Buffer|RateLimiter)$/.test(module.class)) return "queue";
  return "other";
}

/** The text as far as it fits. */
function cut(text, width, letter) {
  const most = Math.floor(width / letter);
  return [...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text;
}

/** A curve through the points that leaves and arrives level. */
function curve(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let at = 1; at < points.length; at += 1) {
    const [x0, y0] = points[at - 1];
    const [x1, y1] = points[at];
    const back = x1 <= x0;
    const reach = back ? 60 + Math.abs(x0 - x1) / 4 : (x1 - x0) / 2;
    // Backwards the line swings out before it turns.
    const lift = back && points.length === 2 && Math.abs(y1 - y0) < 30 ? 60 : 0;
    path += ` C${x0 + reach} ${y0 - lift} ${x1 - reach} ${y1 - lift} ${x1} ${y1}`;
  }
  return path;
}

export class Graph {
  constructor(place, onChoose) {
    this.place = place;
    this.onChoose = onChoose;
    this.edition = undefined;
    this.scale = undefined;
    this.chosen = undefined;
    this.sought = "";
  }

  /** Shows a state with its rates. */
  show(state, rates) {
    if (state.drawing.edition !== this.edition) this.build(state);
    this.write(state, rates);
  }

  build({ drawing, modules }) {
    this.edition = drawing.edition;
    this.drawing = drawing;
    this.boxes = new Map();
    this.lines = [];
    if (modules.length === 0) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = "No modules yet: a controller has not built a pipeline.";
      this.place.replaceChildren(note);
      this.svg = undefined;
      return;
    }
    const width = drawing.width + 2 * SPACE;
    const height = drawing.height + 2 * SPACE;
    this.svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Modules and connections" });
    const moved = make("g", { transform: `translate(${SPACE} ${SPACE})` });
    const count = (key, name) => drawing.links.filter((link) => link[key] === name).length;
    drawing.links.forEach((link, at) => {
      // Where lines fan out their rates stand at the ends, where they come together, at the beginnings.
      const [leave, arrive] = [count("from", link.from), count("to", link.to)];
      const named = { ogate: link.ogate !== 0 && leave <= GATES_NAMED, igate: link.igate !== 0 && arrive <= GATES_NAMED };
      this.lines.push(this.line(moved, link, drawing.lines[at], Math.sign(leave - arrive), named));
    });
    modules.forEach((module, at) => this.boxes.set(module.name, this.box(moved, module, drawing.boxes[at])));
    this.svg.append(moved);
    this.place.replaceChildren(this.svg);
    if (!modules.some((module) => module.name === this.chosen)) this.choose(undefined);
    this.mark();
    if (this.scale !== undefined && !this.fits) return this.resize();
    this.fit();
    // A tall graph is entered where its packets are.
    const [, top, , tall] = drawing.boxes.reduce((first, box) => (box[0] < first[0] ? box : first));
    this.place.scrollTop = (top + tall / 2 + SPACE) * this.scale - this.place.clientHeight / 2;
  }

  line(parent, link, points, fans, named) {
    const path = make("path", { class: "link", d: curve(points) });
    const [x, y] = points[points.length - 1];
    const arrow = make("path", { class: "arrow", d: `M${x} ${y}l-7 -4v8z` });
    const [x0, y0] = points[0];
    const [x1, y1] = points[1];
    const [anchor, left, top] = [
      ["start", x0 + 14, y0],
      ["middle", (x0 + x1) / 2, (y0 + y1) / 2],
      ["end", x - 14, y],
    ][fans + 1];
    const rate = make("text", { class: "rate", x: left, y: top - 6, "text-anchor": anchor });
    parent.prepend(path);
    parent.append(arrow, rate);
    if (named.ogate) parent.append(make("text", { class: "gate", x: x0 + 7, y: y0 + 12 }, link.ogate));
    if (named.igate) parent.append(make("text", { class: "gate", x: x - 13, y: y + 13 }, link.igate));
    return { link, path, arrow, rate };
  }

  box(parent, module, [x, y, width, height]) {
    const group = make("g", { class: "module", transform: `translate(${x} ${y})`, tabindex: 0, role: "button" });
    group.append(
      make("rect", { class: "box", width, height, rx: 9 }),
      make("rect", { class: `stripe ${kindOf(module)}`, x: 6, y: 9, width: 4, height: height - 18, rx: 2 }),
      make("text", { class: "name", x: 18, y: 22 }, cut(module.name, width - 26, 8)),
      make("text", { class: "kind", x: 18, y: 38 }, cut(module.class, width - 26, 6.6)),
    );
    const said = make("text", { class: "taken", x: 18, y: 54 });
    group.append(said, make("title", {}, `${module.name}: ${module.class} ${module.description}`));
    group.addEventListener("click", () => this.choose(module.name));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.choose(module.name);
      } else if (event.key === "Escape") this.choose(undefined);
    });
    parent.append(group);
    return { group, said, module };
  }

  /** Writes the rates. */
  write(state, rates) {
    if (!this.svg) return;
    for (const { link, path, arrow, rate } of this.lines) {
      const packets = rates.gates.get(rates.gate({ module: link.from, gate: link.ogate }))?.packets;
      const flows = packets > 0;
      path.classList.toggle("flows", flows);
      arrow.classList.toggle("flows", flows);
      path.style.strokeWidth = flows ? Math.min(6, 1.2 + Math.log10(1 + packets) / 2) : 1.2;
      rate.textContent = packets === undefined ? "" : flows ? `${short(packets)}/s` : "0";
    }
    for (const module of state.modules) {
      const box = this.boxes.get(module.name);
      const now = rates.modules.get(module.name);
      const lost = Object.values(now.drops).reduce((sum, one) => sum + (one ?? 0), 0);
      const loses = lost > 0 && module.class !== "Sink";
      const takes = now.packets === undefined || kindOf(module) === "source" ? "" : `${short(now.packets)} packets/s`;
      box.said.textContent = loses ? `${short(lost)} lost/s` : module.description || takes;
      box.said.classList.toggle("lost", loses);
      const took = now.packets === undefined ? "" : `, ${short(now.packets)} packets a second`;
      box.group.setAttribute("aria-label", `${module.name}, ${module.class}${took}${lost > 0 ? `, ${short(lost)} lost a second` : ""}`);
    }
  }

  choose(name) {
    this.chosen = name === this.chosen ? undefined : name;
    this.mark();
    this.onChoose(this.chosen);
  }

  /** Shows only what is sought at full strength, and scrolls to the first. */
  find(text) {
    this.sought = text.trim().toLowerCase();
    this.mark();
    if (!this.sought || !this.svg) return;
    const first = [...this.boxes.values()].find((box) => this.matches(box.module));
    first?.group.scrollIntoView({ block: "center", inline: "center" });
  }

  matches(module) {
    return `${module.name} ${module.class}`.toLowerCase().includes(this.sought);
  }

  mark() {
    for (const [name, { group, module }] of this.boxes ?? []) {
      group.classList.toggle("chosen", name === this.chosen);
      group.setAttribute("aria-pressed", name === this.chosen);
      group.classList.toggle("dim", this.sought !== "" && !this.matches(module));
    }
    for (const { link, path } of this.lines ?? []) {
      path.classList.toggle("near", link.from === this.chosen || link.to === this.chosen);
      path.classList.toggle("dim", this.sought !== "");
    }
  }

  /** As large as the window allows, and no smaller than one can read. */
  fit() {
    if (!this.svg) return;
    const room = ((this.place.clientWidth || 1200) - SCROLLBAR) / (this.drawing.width + 2 * SPACE);
    this.scale = Math.max(SCALE_LEGIBLE, Math.min(1, room));
    this.fits = true;
    this.resize();
  }

  /** One step larger or smaller. */
  zoom(direction) {
    const steps = direction > 0 ? SCALES.filter((scale) => scale > this.scale + 0.01) : SCALES.filter((scale) => scale < this.scale - 0.01).reverse();
    if (!this.svg || steps.length === 0) return;
    this.scale = steps[0];
    this.fits = false;
    this.resize();
  }

  resize() {
    this.svg.setAttribute("width", (this.drawing.width + 2 * SPACE) * this.scale);
    this.svg.setAttribute("height", (this.drawing.height + 2 * SPACE) * this.scale);
  }
}
