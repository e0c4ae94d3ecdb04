// Which problem's variants are shown, and on which problems a variant grows too fast.

let contestShown = null;

function contestLabel(contest) { return `${contest.stages} ${contest.class}, ${contest.how} @ ${contest.device}`; }

function contestLink(contest) {
  return element("a", {href: "#variants=" + encodeURIComponent(contestLabel(contest))}, contestLabel(contest));
}

function showContest(n) {
  const contest = data.contests[n];
  const variants = ranked(contest), lines = variants.slice(0, mostLines);
  contestShown = n;
  document.getElementById("contest").replaceChildren(
    element("p", {className: "soft"}, `${contest.class}, ${contest.how}; ${contest.device}, run ${contest.run} of ${contest.day}` +
      (variants.length > mostLines ? `; lines of ${mostLines} of ${variants.length} variants` : "")));
  document.getElementById("slopes").replaceChildren(slopeTable(contest, variants));
  return Promise.all([drawCrossover(contest, lines), drawHeatmap(contest, variants), drawScaling(contest, lines),
                      drawRoofline(contest, lines), drawMemory(contest, lines)]);
}

/** Which variants of all problems grow too fast. */
function slopeAlarms() {
  const steep = data.contests.filter(contest => contest.variants.some(isSteep));
  if (steep.length === 0) return element("p", {className: "soft"}, `No variant grows faster than length^${slopeAlarm}, on any problem.`);
  return element("div", {className: "alert warn"},
    element("strong", {}, `Grows faster than length^${slopeAlarm}`),
    ...steep.slice(0, 10).map(contest => element("p", {}, contestLink(contest), ": " + contest.variants.filter(isSteep)
      .map(variant => `${shortName(contest, variant.name)} (${digits(variant.slope[0], 3)})`).join(", "))),
    steep.length > 10 ? element("p", {}, `and on ${steep.length - 10} more problems`) : "");
}

/** Options with one heading for each group of stages. */
function contestOptions() {
  const groups = new Map();
  for (const contest of data.contests) groups.set(contest.stages, [...(groups.get(contest.stages) || []), contest]);
  return [...groups].map(([stages, contests]) => element("optgroup", {label: printable(stages)},
    ...contests.map(contest => element("option", {value: contestLabel(contest)}, contestLabel(contest)))));
}

function showContestChoice() {
  const box = document.getElementById("contest-choice");
  if (data.contests.length === 0) {
    box.append(element("p", {className: "soft"}, "Nothing was measured at two lengths or more; a history from CSV has no variants."));
    document.getElementById("contest-plots").hidden = true;
    return;
  }
  const select = element("select", {id: "contest-select"}, ...contestOptions());
  select.addEventListener("change", () => setPlace({variants: select.value}));
  box.append(slopeAlarms(), element("label", {htmlFor: "contest-select"}, "Problem "), select);
  document.getElementById("memory-table").append(memoryTable());
}
