// Variants that compete on the same problems: which is the fastest where, and how they grow.

const slopeAlarm = 1.3;
const mostLines = 8;

function shortName(contest, name) {
  return name.startsWith(contest.stages + "/") ? name.slice(contest.stages.length + 1) : name;
}

/** Variants by their mean log ratio to the fastest; chosen ones before all others. */
function ranked(contest) {
  const chosen = new Set(contest.ranges.map(range => range[2]));
  const mean = variant => variant.cells.reduce((sum, cell) => sum + Math.log(cell[2]), 0) / variant.cells.length -
    variant.cells.length / contest.lengths.length;
  return [...contest.variants].sort((a, b) => chosen.has(b.name) - chosen.has(a.name) || mean(a) - mean(b));
}

function cellsOf(contest, variants) {
  return variants.flatMap(variant => variant.cells.map(([length, ns, ratio, low, high, flop, bytes, workspace]) => ({
    name: shortName(contest, variant.name), length, ns, ratio, low: low === null ? ratio : low,
    high: high === null ? ratio : high, flop, bytes, workspace,
    tip: printable(`${shortName(contest, variant.name)} at ${length}: ${valueText(ns, "ns")}, ${digits(ratio, 3)} of the best`)})));
}

/** Ratios at which the axis has a line: few enough to read, however near to 1 all variants are. */
function ratioTicks(cells) {
  const low = Math.min(...cells.map(cell => cell.low)), high = Math.max(...cells.map(cell => cell.high));
  if (high >= 4) return [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
  const step = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find(one => (high - low) / one <= 7) || 0.5;
  const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
  return [...new Set([1, ...Array.from({length: count}, (_, i) => Number(((first + i) * step).toFixed(3)))])];
}

function keyOf(names) {
  return names.map((name, n) => ["", seriesColours()[n % mostLines], name]);
}

function drawCrossover(contest, lines) {
  const names = lines.map(variant => shortName(contest, variant.name));
  const last = contest.lengths.at(-1);
  const ranges = contest.ranges.map(([from, to, name]) => ({
    from: Math.max(from, contest.lengths[0]), to: Math.min(to === null ? last : to, last), name: shortName(contest, name),
    tip: printable(`chosen from ${from} to ${to === null ? "the end" : to}: ${shortName(contest, name)}`)}))
    .filter(range => range.from < range.to);
  const chosen = ranges.length === 0 ? "No chosen ranges are known." :
    "Chosen (bar at the foot): " + ranges.map(range => `${range.name} from ${range.from} to ${range.to}`).join("; ") + ".";
  const cells = cellsOf(contest, lines);
  return draw(document.getElementById("crossover-plot"), "crossover",
    {cells, ranges},
    {names, colours: seriesColours(), axis: contest.axis, lengths: contest.lengths, ratioTicks: ratioTicks(cells)},
    `Time as a multiple of the fastest, by ${contest.axis}, with 95 % intervals. ${chosen} Fastest: ${winsText(contest)}.`, keyOf(names),
    ratioTable(contest, lines));
}

/** A row for each length, a column for each variant: time, and multiple of the fastest with its interval. */
function ratioTable(contest, variants) {
  const text = ([, ns, ratio, low, high]) => `${valueText(ns, "ns")}, ${digits(ratio, 3)}x` +
    (low === null ? "" : ` (${digits(low, 3)} to ${digits(high, 3)})`);
  return {caption: `times by ${contest.axis}`, heads: [contest.axis, ...variants.map(variant => shortName(contest, variant.name))],
          rows: () => contest.lengths.map(length => [String(length), ...variants.map(variant => {
            const cell = variant.cells.find(one => one[0] === length);
            return cell ? text(cell) : "";
          })])};
}

function fastestAt(contest, length) {
  const times = contest.variants.map(variant => [variant.cells.find(cell => cell[0] === length), variant.name])
    .filter(([cell]) => cell).sort((a, b) => a[0][1] - b[0][1]);
  return shortName(contest, times[0][1]);
}

/** "first from 128 to 988, second from 997 to 8192". */
function winsText(contest) {
  const wins = [];
  for (const length of contest.lengths) {
    const name = fastestAt(contest, length), last = wins.at(-1);
    if (last && last.name === name) last.to = length;
    else wins.push({name, from: length, to: length});
  }
  return wins.map(win => `${win.name} ${win.from === win.to ? "at" : `from ${win.from} to`} ${win.to}`).join(", ");
}

function drawHeatmap(contest, variants) {
  const names = variants.map(variant => shortName(contest, variant.name));
  return draw(document.getElementById("heatmap-plot"), "heatmap", {cells: cellsOf(contest, variants)},
    {names, lengths: contest.lengths, axis: contest.axis},
    `Time of ${names.length} variants at ${contest.lengths.length} lengths as a multiple of the fastest at that length.`,
    [], ratioTable(contest, variants));
}

function drawScaling(contest, lines) {
  const names = lines.map(variant => shortName(contest, variant.name));
  const cells = cellsOf(contest, lines).map(cell => ({...cell, ms: cell.ns / 1e6}));
  const fits = lines.filter(variant => variant.slope).flatMap(variant => {
    const lengths = variant.cells.map(cell => cell[0]);
    return [Math.min(...lengths), Math.max(...lengths)].map(length => ({
      name: shortName(contest, variant.name), length,
      ms: Math.exp(variant.slope[3] + variant.slope[0] * Math.log(length)) / 1e6}));
  });
  const steep = contest.variants.filter(isSteep).map(variant => shortName(contest, variant.name));
  return draw(document.getElementById("scaling-plot"), "scaling", {cells, fits},
    {names, colours: seriesColours(), axis: contest.axis, lengths: contest.lengths,
     ticks: logTicks(Math.min(...[...cells, ...fits].map(one => one.ms)), Math.max(...[...cells, ...fits].map(one => one.ms)))},
    `Time against ${contest.axis}, both logarithmic, with fitted lines. ` +
    (steep.length ? `Slope over ${slopeAlarm}: ${steep.join(", ")}.` : `No slope is over ${slopeAlarm}.`), keyOf(names));
}

function isSteep(variant) { return variant.slope !== null && variant.slope[1] > slopeAlarm; }

function slopeTable(contest, variants) {
  return table("Growth: time ~ length^slope, with 95 % intervals", ["Variant", "Slope", "Lengths", ""],
    variants.map(variant => [shortName(contest, variant.name),
      variant.slope ? `${digits(variant.slope[0], 3)} (${digits(variant.slope[1], 3)} to ${digits(variant.slope[2], 3)})` : "none",
      String(variant.cells.length),
      isSteep(variant) ? element("span", {className: "bad"}, `alarm: over ${slopeAlarm}`) : ""]));
}
