// Counts, alerts and the table of series.

const urgency = ["confirmed", "suspect", "failed", "missing", "drift", "spike", "environment", "clock",
                 "improvement", "acked", "cleared", "removed", "new", "warming_up", "ok"];
const tableBody = document.querySelector("#table tbody");

function seriesLink(name) {
  return element("a", {href: "#series=" + encodeURIComponent(name)}, name);
}

function stateText(verdict) {
  return verdict.state === "warming_up" ? `warming_up (${verdict.nights}/${verdict.nights + verdict.missing_nights})`
                                        : verdict.state;
}

function showHeadline() {
  const check = data.check;
  const says = {0: "no regression", 1: "a regression", 3: "nothing can be judged yet", 4: "series have no result"};
  document.getElementById("headline").append(printable(
    `${verdicts.length} series, ${countText(check.nights, "night")} to ${check.last_night || "none"}: ` +
    `${says[check.exit_code]} (exit ${check.exit_code}).`));
}

function showCounts() {
  for (const state of urgency.filter(name => data.check.counts[name] > 0)) {
    const button = element("button", {type: "button", className: tone(state), "aria-pressed": "false"},
                           `${data.check.counts[state]} ${state}`);
    button.dataset.state = state;
    button.addEventListener("click", () =>
      setPlace({state: button.getAttribute("aria-pressed") === "true" ? "" : state}));
    document.getElementById("counts").append(button);
  }
}

function alertElement(alert) {
  const shown = alert.series.slice(0, 5);
  const change = stateChange(verdicts[numberOf.get(shown[0])]);
  const more = alert.series.length - shown.length;
  return element("div", {className: "alert " + tone(alert.state)},
    element("strong", {}, alert.state),
    element("span", {}, alert.time === undefined ? "" : ` since ${alert.time}`,
            alert.last_commit ? `, commits ${commitsText(alert)}` : "", change ? `: ${sizeText(change)}` : ""),
    ...shown.map(name => element("p", {}, seriesLink(name))),
    more > 0 ? element("p", {}, `and ${more} more`) : "");
}

function showAlerts() {
  const shown = data.check.alerts.slice(0, 20);
  const more = data.check.alerts.length - shown.length;
  const box = document.getElementById("alerts");
  box.append(...shown.map(alertElement));
  if (more > 0) box.append(element("p", {}, `and ${more} more alerts, in the table`));
  if (shown.length === 0) box.append(element("p", {className: "soft"}, "No alerts."));
}

function rowOf(verdict, i) {
  const change = stateChange(verdict);
  const row = element("tr", {},
    element("td", {className: "state " + tone(verdict.state)}, stateText(verdict)),
    element("td", {}, seriesLink(verdict.name)),
    element("td", {className: "number"}, valueText(lastValue(i), data.unit)),
    element("td", {}, change ? sizeText(change) : ""),
    element("td", {className: "number"}, change ? change.time : ""),
    element("td", {}, change ? commitsText(change) : ""));
  row.dataset.state = verdict.state;
  row.dataset.series = i;
  return row;
}

function showTable() {
  const order = verdicts.map((_, i) => i).sort((a, b) =>
    urgency.indexOf(verdicts[a].state) - urgency.indexOf(verdicts[b].state) || a - b);
  tableBody.append(...order.map(i => rowOf(verdicts[i], i)));
}

const mostRows = 100;  // before somebody asks for more: each is a stop of the keyboard
let allRows = false;

/** Rows of one state whose names have all the words; "" stands for any. */
function filterTable(state, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const row of tableBody.rows) {
    const name = verdicts[row.dataset.series].name.toLowerCase();
    const passes = (!state || row.dataset.state === state) && wanted.every(word => name.includes(word));
    found += passes ? 1 : 0;
    row.hidden = !passes || (found > mostRows && !allRows);
  }
  for (const button of document.querySelectorAll("#counts button"))
    button.setAttribute("aria-pressed", String(button.dataset.state === state));
  document.getElementById("shown").textContent = `${found} of ${verdicts.length} series`;
  const more = document.getElementById("more");
  more.hidden = allRows || found <= mostRows;
  more.textContent = `Show ${found - mostRows} more series`;
}
