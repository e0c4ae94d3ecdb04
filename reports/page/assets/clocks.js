// The machine while the newest run measured.

const clockMetrics = {
  sm_mhz: {name: "Core clock", unit: "MHz"}, memory_mhz: {name: "Memory clock", unit: "MHz"},
  temperature_c: {name: "Temperature", unit: "°C"}, power_w: {name: "Power", unit: "W"}};
let clocksShown = null;

function clockWords(run, metric, bins) {
  const low = Math.min(...bins.map(bin => bin[1])), high = Math.max(...bins.map(bin => bin[3]));
  const limit = metric === "power_w" && run.power_limit_w ? `, limit ${digits(run.power_limit_w)} W` : "";
  const {name, unit} = clockMetrics[metric];
  return low === high ? `${name}: ${digits(low)} ${unit} throughout${limit}.` : `${name}: ${digits(low)} to ${digits(high)} ${unit}${limit}.`;
}

function throttleWords(run) {
  const rows = Object.values(run.throttled).reduce((a, b) => a + b, 0);
  if (rows === 0) return "No row was throttled.";
  const why = Object.entries(run.throttled).map(([reason, count]) => `${reason} ${count}`).join(", ");
  return `${rows} of ${run.rows} rows were throttled (${why}).`;
}

/** Between bins that do not follow each other one without values, so that no area spans the gap. */
function withGaps(bins) {
  return bins.flatMap((bin, n) => n > 0 && bin[0] > bins[n - 1][0] + 1 ? [[bins[n - 1][0] + 1], bin] : [bin]);
}

function drawClock(run, metric) {
  const bins = run.metrics[metric], {name, unit} = clockMetrics[metric];
  const figure = element("figure", {id: `clocks-${metric}`});
  document.getElementById("clocks-plots").append(figure);
  const words = clockWords(run, metric, bins);
  if (Math.min(...bins.map(bin => bin[1])) === Math.max(...bins.map(bin => bin[3]))) return say(figure, words);
  const minutes = bin => bin * run.bin_s / 60;
  const rows = withGaps(bins).map(([bin, low, mid, high]) => ({at: minutes(bin), valid: mid !== undefined, low, mid, high,
    tip: mid === undefined ? "" : `${digits(minutes(bin), 3)} min: ${digits(mid)} ${unit} (${digits(low)} to ${digits(high)})`}));
  const throttled = run.throttled_bins.map(([bin, share]) => ({from: minutes(bin), to: minutes(bin + 1),
    tip: `throttled: ${digits(100 * share, 2)} % of the rows`}));
  const colours = theme();
  return draw(figure, "clocks", {rows, throttled}, {unit: `${name}, ${unit}`}, words,
    [["●", colours.median, "median"], ["", colours.band, "lowest to highest"],
     ...(throttled.length ? [["", colours.warn, "throttled rows"]] : [])],
    {caption: name.toLowerCase(), heads: ["Minute", "Median", "Lowest", "Highest"],
     rows: () => rows.filter(row => row.valid).map(row => [digits(row.at, 3), ...[row.mid, row.low, row.high].map(value => digits(value))])});
}

function showClocks(n) {
  const run = data.clocks[n], metrics = Object.keys(clockMetrics).filter(metric => metric in run.metrics);
  clocksShown = n;
  for (const figure of document.querySelectorAll("#clocks-plots figure")) clear(figure);
  document.getElementById("clocks-plots").replaceChildren();
  document.getElementById("clocks-words").textContent = printable(
    `${run.device}, run ${run.run} of ${run.start.slice(0, 16).replace("T", " ")} UTC. ` +
    (metrics.length ? throttleWords(run) : "Neither clocks nor temperature nor power could be read."));
  return Promise.all(metrics.map(metric => drawClock(run, metric)));
}

function showClocksChoice() {
  if (data.clocks.length === 0) {
    document.getElementById("clocks-words").textContent = "No run is known; a history from CSV has no clocks.";
    return;
  }
  if (data.clocks.length < 2) return;
  const select = element("select", {id: "clocks-select"},
    ...data.clocks.map(run => element("option", {value: run.device}, run.device)));
  select.addEventListener("change", () => setPlace({run: select.value}));
  document.getElementById("clocks-choice").append(element("label", {htmlFor: "clocks-select"}, "Device "), select);
}
