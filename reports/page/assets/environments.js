// Which nights ran in which environment, and what differs.

/** "driver: 550 became 560"; facts of one side alone are none on the other. */
function differences(before, now) {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return keys.filter(key => before[key] !== now[key])
    .map(key => `${key}: ${before[key] ?? "none"} became ${now[key] ?? "none"}`);
}

function factList(facts) {
  const details = element("details", {}, element("summary", {}, `All ${Object.keys(facts).length} facts`));
  details.append(element("ul", {}, ...Object.entries(facts).map(([key, value]) => element("li", {}, `${key}: ${value}`))));
  return details;
}

/** What the page knows of an environment beside the one before it on the same device. */
function environmentCell(before, now) {
  if (!now) return "its facts are not known";
  const found = before ? differences(before, now) : [];
  const list = found.length ? element("ul", {}, ...found.map(text => element("li", {}, text)))
                            : element("span", {}, before ? "no fact that is known" : "the first");
  return element("div", {}, list, factList(now));
}

function showEnvironments() {
  const rows = data.history.tracks.flatMap(track => epochsOf(track).map((epoch, n, epochs) => {
    const commits = new Set(track.commit.slice(epoch.from, epoch.to).filter(Boolean));
    const before = n === 0 ? null : data.environments[epochs[n - 1].name];
    return [track.device || "-", epoch.name || "unknown", track.time[epoch.from], track.time[epoch.to - 1],
            String(epoch.to - epoch.from), String(commits.size), environmentCell(before, data.environments[epoch.name])];
  }));
  document.getElementById("environment-table").append(
    table("A row for each run of nights in one environment",
      ["Device", "Fingerprint", "First night", "Last night", "Nights", "Commits", "What differs from the one before"], rows));
}
