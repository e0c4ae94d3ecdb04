// What is shown is in the address: #series=NAME&state=confirmed&words=decode&variants=PROBLEM&run=DEVICE

const words = document.getElementById("words");

let remembered = "";

/** What the address says, or said before it named a part of the page. */
function place() {
  if (location.hash === "" || location.hash.includes("=")) remembered = location.hash.slice(1);
  return new URLSearchParams(remembered);
}

/** Changes parts of the address; "" takes one away. */
function setPlace(parts) {
  const now = place();
  for (const [key, value] of Object.entries(parts)) {
    if (value === "") now.delete(key);
    else now.set(key, value);
  }
  const text = now.toString().replaceAll("+", "%20");
  history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  show();
}

function firstSeries() { return tableBody.rows.length > 0 ? verdicts[tableBody.rows[0].dataset.series].name : ""; }

let shownSeries = null;

/** Shows what the address says; parts that did not change stay as they are. */
async function show() {
  const at = place();
  if (words.value !== (at.get("words") || "")) words.value = at.get("words") || "";
  filterTable(at.get("state") || "", words.value);
  const name = at.get("series") ?? firstSeries();
  const contest = Math.max(0, data.contests.findIndex(one => contestLabel(one) === at.get("variants")));
  const run = Math.max(0, data.clocks.findIndex(one => one.device === at.get("run")));
  const drawn = [];
  if (name !== shownSeries) {
    shownSeries = name;
    drawn.push(chooseSeries(name));
    if (at.has("series")) document.getElementById("series").scrollIntoView();
  }
  if (data.contests.length > 0 && contest !== contestShown) {
    document.getElementById("contest-select").value = contestLabel(data.contests[contest]);
    drawn.push(showContest(contest));
    if (at.has("variants") && !at.has("series")) document.getElementById("variants").scrollIntoView();
  }
  if (data.clocks.length > 0 && run !== clocksShown) drawn.push(showClocks(run));
  await Promise.all(drawn);
  document.body.dataset.ready ??= String(Math.round(performance.now()));  // ms since the navigation
}

function onTheme() {
  if (shownSeries !== null) chooseSeries(shownSeries);
  if (contestShown !== null) showContest(contestShown);
  if (clocksShown !== null) showClocks(clocksShown);
  showTraces();
}

document.getElementById("filter").addEventListener("submit", event => event.preventDefault());
words.addEventListener("input", () => setPlace({words: words.value}));
document.getElementById("more").addEventListener("click", () => {
  allRows = true;
  show();
});
window.addEventListener("hashchange", show);
showHeadline();
showCounts();
showAlerts();
showTable();
showContestChoice();
showClocksChoice();
showResults();
showTraces();
showEnvironments();
show();
