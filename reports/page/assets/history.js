// The data of the page: the document of `check`, and the nights of each series.

const data = JSON.parse(document.getElementById("data").textContent);
const verdicts = data.check.series;
const numberOf = new Map(verdicts.map((verdict, i) => [verdict.name, i]));

/** Running sums of whole numbers of quanta: {median, low, high} a night, or null. */
function nightsOf(i) {
  const series = data.history.series[i];
  let at = 0;
  return series.median.map((step, night) => {
    if (step === null) return null;
    at += step;
    return {median: at * series.quantum, low: (at - series.below[night]) * series.quantum,
            high: (at + series.above[night]) * series.quantum};
  });
}

function lastValue(i) {
  const series = data.history.series[i];
  if (series.median.at(-1) === null) return null;
  return series.quantum * series.median.reduce((sum, step) => sum + (step || 0), 0);
}

function trackOf(i) { return data.history.tracks[data.history.series[i].track]; }

/** The position in a track of the night with that index. */
function positionOf(track, index) {
  const at = track.index.findIndex(one => one >= index);
  return at < 0 ? track.index.length : at;
}

/** [from, to) of nights in one environment. */
function epochsOf(track) {
  const epochs = [];
  track.environment.forEach((name, at) => {
    const last = epochs.at(-1);
    if (last && last.name === name) last.to = at + 1;
    else epochs.push({name, from: at, to: at + 1});
  });
  return epochs;
}

function isWorse(change) {
  return data.check.better === "both" || (change.direction === "up") === (data.check.better === "lower");
}

/** What a change is, in a word. */
function kindOf(change) {
  if (change.acked) return "acked";
  if (change.reverted) return "reverted";
  if (change.environment) return "environment";
  return isWorse(change) ? "regression" : "improvement";
}

/** The change that a series' state comes from. */
function stateChange(verdict) {
  return verdict.state_change === undefined ? null : verdict.changes[verdict.state_change];
}
