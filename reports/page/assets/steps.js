// What the time of steps went to, from traces: stages, and idle time by its cause.

const idleWords = {host_wait: "nothing launched", kernel_wait: "launch pending", sync: "host in sync", blocking_call: "blocking call",
                   profiler_overhead: "profiler", other: "other"};
const idleNames = Object.fromEntries(Object.entries(idleWords).map(([cause, words]) => [cause, `idle: ${words}`]));
const idleColours = {light: ["#c3cad2", "#a3adb8", "#828d99", "#727d89", "#626d7a", "#dfe4e9"], dark: ["#4b5561", "#626d7a", "#7c8794", "#8a95a2", "#97a2af", "#353d47"]};
const noStage = "no known stage";

/** [part, ns] of a step, in the order of the bar; they add up to its span. */
function partsOf(step) {
  const idle = Object.entries(idleNames).map(([cause, name]) => [name, step.idle[cause] || 0]);
  return [...step.stages, [noStage, step.unattributed_ns], ...idle].filter(([, ns]) => ns > 0);
}

/** Names of the parts of all steps: stages by their totals, then what has none, then idle time. */
function partNames(steps) {
  const totals = new Map();
  for (const step of steps) for (const [name, ns] of step.stages) totals.set(name, (totals.get(name) || 0) + ns);
  const stages = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const there = new Set(steps.flatMap(step => partsOf(step).map(([name]) => name)));
  return [...stages, noStage, ...Object.values(idleNames)].filter(name => there.has(name));
}

function partColours(names) {
  const idle = Object.values(idleNames), greys = dark.matches ? idleColours.dark : idleColours.light;
  const hues = seriesColours();
  return names.map((name, n) => idle.includes(name) ? greys[idle.indexOf(name)] : name === noStage ? theme().band : hues[n % hues.length]);
}

function stepName(step, n) { return printable(step.name || (n === 0 ? "all operations" : `step ${n}`)).slice(0, 40); }

function stepWords(trace) {
  const sum = key => trace.steps.reduce((total, step) => total + step[key], 0);
  const idle = 100 * sum("idle_ns") / Math.max(1, sum("span_ns"));
  const shown = trace.all_steps > trace.steps.length ? `the first ${trace.steps.length} of ${trace.all_steps} steps` : countText(trace.steps.length, "step");
  return `${trace.devices.join(", ") || "unknown device"}: ${shown}, from the first to the last operation of each; ` +
    `the GPU is idle for ${digits(idle, 3)} % of that time.` +
    (trace.peak_allocated_bytes === undefined ? "" : ` At most ${bytesText(trace.peak_allocated_bytes)} were allocated.`);
}

function drawSteps(figure, trace) {
  const names = partNames(trace.steps), colours = partColours(names);
  const rows = trace.steps.map((step, n) => `${n + 1}. ${stepName(step, n)}`);
  const parts = trace.steps.flatMap((step, n) => {
    const sizes = new Map(partsOf(step));
    let at = 0;
    return names.filter(name => sizes.has(name)).map(name => {
      const from = at;
      at += sizes.get(name);
      return {row: rows[n], name, from: from / 1e6, to: at / 1e6,
              tip: printable(`${name}: ${valueText(sizes.get(name), "ns")}, ${digits(100 * sizes.get(name) / step.span_ns, 3)} % of ${rows[n]}`)};
    });
  });
  return draw(figure, "steps", {parts}, {rows, names, colours}, stepWords(trace), names.map((name, n) => ["", colours[n], name]),
    {caption: "parts of each step", heads: ["Step", "Span", ...names],
     rows: () => trace.steps.map((step, n) => {
       const sizes = new Map(partsOf(step));
       return [rows[n], valueText(step.span_ns, "ns"), ...names.map(name => sizes.has(name) ? valueText(sizes.get(name), "ns") : "")];
     })});
}

function kernelTable(trace) {
  return plotTable({caption: "kernels with the largest totals, of the whole trace", heads: ["Kernel", "Calls", "Total"],
                    rows: () => trace.kernels.map(([name, calls, ns]) => [name, String(calls), valueText(ns, "ns")])}, false);
}

function showTraces() {
  const box = document.getElementById("traces");
  for (const figure of box.querySelectorAll("figure")) clear(figure);
  if (data.traces.length === 0) {
    box.replaceChildren(element("p", {className: "soft"}, "No trace was given; nsatune report --trace FILE shows what the time of its steps went to."));
    return;
  }
  box.replaceChildren();
  data.traces.forEach((trace, n) => {
    const figure = element("figure", {id: `steps-plot-${n}`});
    box.append(element("h3", {}, trace.name), figure);
    if (trace.steps.length === 0) say(figure, `No step can be shown: ${trace.why}.`);
    else drawSteps(figure, trace);
    if (trace.kernels.length > 0) box.append(kernelTable(trace));
  });
}
