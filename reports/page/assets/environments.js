// Which nights ran in which environment.

function showEnvironments() {
  const rows = data.history.tracks.flatMap(track => epochsOf(track).map(epoch => {
    const commits = new Set(track.commit.slice(epoch.from, epoch.to).filter(Boolean));
    return [track.device || "-", epoch.name || "unknown", track.time[epoch.from], track.time[epoch.to - 1],
            String(epoch.to - epoch.from), String(commits.size)];
  }));
  document.getElementById("environment-table").append(
    table("A row for each run of nights in one environment", ["Device", "Fingerprint", "First night", "Last night", "Nights", "Commits"], rows));
}
