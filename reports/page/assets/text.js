// Text and elements. Every text goes in as a text node: names are of strangers.

/** Control and direction characters as something that can be seen. */
function printable(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** An element with properties and children, which are elements or texts. */
function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null) continue;
    if (key in made && key !== "role") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.map(child => child instanceof Node ? child : printable(child)));
  return made;
}

/** What a state looks like: bad, good, warn or calm. */
function tone(state) {
  if (["confirmed", "failed", "missing", "removed"].includes(state)) return "bad";
  if (["improvement", "cleared"].includes(state)) return "good";
  return ["suspect", "drift", "spike", "environment", "clock"].includes(state) ? "warn" : "calm";
}

function digits(value, count = 4) {
  return value === 0 ? "0" : String(Number(value.toPrecision(count)));
}

/** {factor, name} in which values of about that size read well; only times have units. */
function unitFor(value, unit) {
  if (unit !== "ns") return {factor: 1, name: unit};
  const steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const [factor, name] = steps.find(([least]) => Math.abs(value) >= least) || steps[3];
  return {factor, name};
}

function valueText(value, unit) {
  if (value === null || value === undefined) return "none";
  const {factor, name} = unitFor(value, unit);
  return (digits(value / factor) + " " + name).trim();
}

/** "811 TFLOP/s", "3.81 TB/s". */
function rateText(value, unit) {
  const [factor, prefix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => value >= least) || [1, ""];
  return `${digits(value / factor, 3)} ${prefix}${unit}`;
}

function bytesText(value) {
  if (value === null || value === undefined) return "unknown";
  const [factor, name] = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]].find(([least]) => value >= least) || [1, "B"];
  return `${digits(value / factor, 3)} ${name}`;
}

function countText(count, name) { return `${count} ${name}${count === 1 ? "" : "s"}`; }

function percentText(ratio) {
  if (ratio >= 2 || ratio <= 0.5) return digits(ratio, 3) + "x";
  const percent = 100 * (ratio - 1);
  return (percent < 0 ? "-" : "+") + Math.abs(percent).toFixed(1) + " %";
}

/** "+5.1 % (+4.6 % to +5.7 %)". */
function sizeText(change) {
  if (change.ratio === undefined)
    return `${digits(change.delta)} (${digits(change.interval[0])} to ${digits(change.interval[1])})`;
  return `${percentText(change.ratio)} (${percentText(change.interval[0])} to ${percentText(change.interval[1])})`;
}

function commitsText(change) {
  return change.last_commit ? `${change.first_commit || ""}..${change.last_commit}` : "";
}

/** A table with a caption; rows are lists of cells, each a text or an element. Short texts, dates and numbers mostly, stay on one line. */
function table(caption, heads, rows) {
  const kind = cell => typeof cell === "string" && cell.length <= 12 ? "number" : "";
  const body = rows.map(row => element("tr", {}, ...row.map(cell => element("td", {className: kind(cell)}, cell))));
  return element("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": caption},
    element("table", {}, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads.map(head => element("th", {scope: "col"}, head)))),
      element("tbody", {}, ...body)));
}
