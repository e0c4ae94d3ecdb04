// What `nsatune run` measured: speed, memory and what the runtime counted.

function memoryText(memory) {
  const parts = [["weights", "weights_bytes"], ["K and V", "cache_bytes"], ["workspace at most", "workspace_peak_bytes"],
                 ["taken of the device", "device_used_bytes"]];
  return parts.filter(([, key]) => memory && memory[key] > 0).map(([name, key]) => `${name} ${bytesText(memory[key])}`).join(", ") || "unknown";
}

function runtimeText(result) {
  const fallbacks = (result.fallback || []).map(one => `${one.stage}: ${one.reason} (${one.calls} times)`);
  return [countText(result.slow_path_calls ?? 0, "call") + " of slow paths", `workspace grew ${countText(result.grow_events ?? 0, "time")}`,
          ...fallbacks].join("; ");
}

function showResults() {
  const box = document.getElementById("results");
  if (data.results.length === 0) return;
  box.append(table("Whole models by nsatune run, the newest first", ["When", "Command", "Device", "Tokens per second", "Share of the matrix rate", "Memory", "Runtime"],
    data.results.map(result => [result.recorded_at.slice(0, 16).replace("T", " "), result.command, result.device || "unknown",
      result.tokens_per_s === null ? "unknown" : digits(result.tokens_per_s),
      result.share_of_peak === null ? "unknown" : `${digits(100 * result.share_of_peak, 3)} %`,
      memoryText(result.memory), runtimeText(result)])));
}
