// Rates from two states, and numbers as people read them.

/** What a counter gained a second; what was made anew under the same name counts from nothing. */
export function rate(now, before, seconds) {
  if (before === undefined || !(seconds > 0)) return undefined;
  return (now >= before ? now - before : now) / seconds;
}

/** Three significant digits and a prefix: 12.3 M. */
export function short(value) {
  if (value === undefined) return "–";
  const units = ["", " k", " M", " G", " T", " P"];
  let unit = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? (rest >= 10 || rest === Math.round(rest) ? 0 : 1) : rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)}${units[unit]}`;
}

/** A count in full, in groups of three. */
export function whole(value) {
  return value.toLocaleString("en-US");
}

/** The rates of everything in `now` since `before`, which may be missing. */
export function ratesOf(now, before) {
  const seconds = before ? now.monotonic_s - before.monotonic_s : 0;
  const index = (list, key) => new Map((list ?? []).map((one) => [key(one), one]));
  const gateKey = (gate) => `${gate.gate}\0${gate.module}`;
  const classKey = (one) => `${one.wid}\0${one.name}`;
  const name = (one) => one.name;
  const old = {
    gates: index(before?.gates, gateKey),
    modules: index(before?.modules, name),
    classes: index(before?.classes, classKey),
    ports: index(before?.ports, name),
  };
  const of = (one, then, field) => rate(one[field], then?.[field], seconds);
  const all = (list, then, key, fields) =>
    new Map(
      list.map((one) => [
        key(one),
        Object.fromEntries(fields.map((field) => [field, of(one, then.get(key(one)), field)])),
      ]),
    );
  const modules = all(now.modules, old.modules, name, ["packets", "cycles"]);
  for (const module of now.modules) {
    const then = old.modules.get(module.name);
    const drops = Object.entries(module.drops);
    modules.get(module.name).drops = Object.fromEntries(
      drops.map(([reason, count]) => [reason, then && rate(count, then.drops[reason] ?? 0, seconds)]),
    );
  }
  const ports = new Map(
    now.ports.map((port) => {
      const then = old.ports.get(port.name);
      const direction = (way) =>
        Object.fromEntries(
          ["packets", "bytes", "dropped"].map((field) => [field, of(port[way], then?.[way], field)]),
        );
      return [port.name, { received: direction("received"), sent: direction("sent") }];
    }),
  );
  return {
    seconds,
    gates: all(now.gates, old.gates, gateKey, ["packets", "bytes"]),
    gate: gateKey,
    modules,
    classes: all(now.classes, old.classes, classKey, ["count", "cycles", "packets", "bits", "throttled"]),
    class: classKey,
    ports,
  };
}
