// The time series that was chosen.

const kinds = {regression: "bad", improvement: "good", environment: "warn", acked: "calm", reverted: "calm"};
const seriesFigure = document.getElementById("series-plot");

/** Positions of at most `most` labels, evenly spread. */
function tickPositions(count, most) {
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({length: Math.ceil(count / step)}, (_, i) => i * step);
}

function changeRows(verdict, track, segments) {
  return verdict.changes.map(change => {
    const at = positionOf(track, change.index);
    const segment = segments.find(one => one.from === at);
    return {at, kind: kindOf(change), colour: kinds[kindOf(change)], up: change.direction === "up",
            level: segment ? segment.level : null, commits: printable(commitsText(change)).slice(0, 24),
            tip: [`${kindOf(change)} ${change.time}: ${sizeText(change)}`, commitsText(change), change.answer || ""].filter(Boolean).join(", ")};
  });
}

function seriesWords(verdict, nights, unit, changes) {
  const values = nights.filter(Boolean);
  if (values.length === 0) return `${verdict.name}: no values.`;
  const lows = Math.min(...values.map(one => one.low)), highs = Math.max(...values.map(one => one.high));
  const found = changes.length === 0 ? "no change" : changes.map(one => one.tip).join("; ");
  return `${countText(values.length, "night")} with values between ${valueText(lows, unit)} and ${valueText(highs, unit)}; ${found}.`;
}

/** What is in the plot, and nothing that is not. */
function seriesKey(colours, changes, failures, epochs) {
  const sign = kind => changes.find(change => change.kind === kind).up ? "▲" : "▼";
  return [["●", colours.median, "median of a night"], ["", colours.band, "its replicates, lowest to highest"],
          ["━", colours.level, "level"],
          ...Object.keys(kinds).filter(kind => changes.some(change => change.kind === kind))
            .map(kind => [sign(kind), colours[kinds[kind]], kind]),
          ...(failures.length ? [["✕", colours.bad, "failed"]] : []),
          ...(epochs.length ? [["", colours.epoch, "another environment"]] : [])];
}

function drawSeries(i) {
  const verdict = verdicts[i], track = trackOf(i), nights = nightsOf(i);
  const typical = nights.find(Boolean);
  const unit = unitFor(typical ? typical.median : 0, data.unit);
  const segments = data.history.series[i].segments.map(([from, to, level]) => ({from, to, level: level / unit.factor}));
  const changes = changeRows(verdict, track, segments);
  const rows = nights.map((one, at) => one === null ? {at, valid: false} : {
    at, valid: true, median: one.median / unit.factor, low: one.low / unit.factor, high: one.high / unit.factor,
    tip: printable(`${track.time[at]} ${track.commit[at]}: ${valueText(one.median, data.unit)} ` +
                   `(${valueText(one.low, data.unit)} to ${valueText(one.high, data.unit)})`)});
  const failures = data.history.series[i].failures.map(([at, why]) => ({at, tip: printable(`${track.time[at]}: ${why}`)}));
  const epochs = epochsOf(track).filter((_, n) => n % 2 === 1);
  const width = seriesFigure.clientWidth;
  const colours = theme();
  return draw(seriesFigure, "series", {nights: rows, segments, changes, epochs, failures},
    {nights: nights.length, times: track.time.map(time => printable(time).slice(0, 10)), unit: unit.name,
     ticks: tickPositions(nights.length, Math.max(2, Math.floor(width / 110)))},
    seriesWords(verdict, nights, data.unit, changes),
    seriesKey(colours, changes, failures, epochs), nightTable(i, nights, track));
}

function nightTable(i, nights, track) {
  const failed = new Map(data.history.series[i].failures);
  const cells = (one, at) => one === null ? [failed.get(at) || "no value", "", ""]
                                          : [one.median, one.low, one.high].map(value => valueText(value, data.unit));
  return {caption: "nights of this series", heads: ["Night", "Median", "Lowest", "Highest", "Commit", "Environment"],
          rows: () => nights.map((one, at) => [track.time[at], ...cells(one, at), track.commit[at], track.environment[at]])};
}

function changeTable(verdict) {
  if (verdict.changes.length === 0) return element("p", {className: "soft"}, "No changes.");
  return table("Changes of this series", ["What", "Since", "Size", "p", "q", "Commits", "Answer"],
    verdict.changes.map(change => [
      element("span", {className: kinds[kindOf(change)]}, kindOf(change)), change.time, sizeText(change),
      digits(change.p, 2), digits(change.q, 2), commitsText(change), change.answer || ""]));
}

/** Shows the series of that name; says so where there is none. */
function chooseSeries(name) {
  const i = numberOf.get(name);
  const chosen = document.getElementById("chosen");
  for (const row of tableBody.rows) row.setAttribute("aria-selected", String(Number(row.dataset.series) === i));
  if (i === undefined) {
    clear(seriesFigure);
    document.getElementById("changes").replaceChildren();
    chosen.replaceChildren(element("p", {}, name ? `There is no series ${name}.` : "There are no series."));
    return Promise.resolve();
  }
  const verdict = verdicts[i];
  chosen.replaceChildren(element("h3", {}, verdict.name),
    element("p", {}, element("span", {className: tone(verdict.state)}, stateText(verdict)),
            verdict.reason ? `: ${verdict.reason}` : ""));
  document.getElementById("changes").replaceChildren(changeTable(verdict));
  return drawSeries(i);
}
