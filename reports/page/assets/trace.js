// One trace: what its time went to, what would make it shorter, and the tables behind that.

const data = JSON.parse(document.getElementById("data").textContent);
const summary = data.summary;
const mostRows = 40;

function nsText(value) { return valueText(value, "ns"); }

function shareText(part, whole) { return whole > 0 ? `${digits(100 * part / whole, 3)} %` : "-"; }

/** As in the text: "rank 3", or its place among the traces; "GPU 0", of one of several "rank 3, GPU 0". */
function rankName(rank, part) { return rank === null ? `trace ${part}` : `rank ${rank}`; }

function gpuName(row) { return summary.clocks ? `${rankName(row.rank, row.part)}, GPU ${row.device}` : `GPU ${row.device}`; }

function deviceTime() { return (summary.busy_ns || 0) + (summary.idle_ns || 0); }

/** A section with a heading and an entry of the navigation. */
function section(id, title, ...children) {
  document.getElementById("parts").append(element("a", {href: "#" + id}, title), " ");
  document.getElementById("sections").append(
    element("section", {id, tabIndex: -1, "aria-labelledby": id + "-title"},
      element("h2", {id: id + "-title"}, title), ...children));
}

/** Without what all kernels of a library begin with. */
function shortName(name) {
  return printable(name).replace(/^void /, "").replace(/^(at::native::|thrust::)(THRUST_[0-9A-Z_]+::)?(\(anonymous namespace\)::)?/, "");
}

/** Names as long as a plot has room for; those that would look alike get a number. */
function rowNames(names) {
  const seen = new Map();
  return names.map(name => {
    const full = shortName(name), short = full.length > 48 ? full.slice(0, 45) + "..." : full;
    const times = (seen.get(short) || 0) + 1;
    seen.set(short, times);
    return times === 1 ? short : `${short} (${times})`;
  });
}

/** Bars of times: rows are [name, ns] or [name, ns, "at least "]. */
function drawBars(figure, rows, words, caption, heads, cells) {
  const names = rowNames(rows.map(([name]) => name));
  const parts = rows.map(([name, ns, sign = ""], n) => ({row: names[n], name: "time", from: 0, to: ns / 1e6, tip: printable(`${name}: ${sign}${nsText(ns)}`)}));
  return draw(figure, "steps", {parts}, {rows: names, names: ["time"], colours: [theme().median]}, words, [],
    {caption, heads, rows: cells});
}

function orDash(value) { return value === null || value === undefined ? "-" : nsText(value); }

/** As in the text: "27.6 GB/s". */
function gigabytesText(value) { return value === null || value === undefined ? "-" : `${digits(value, 3)} GB/s`; }

/** What the text's overview says beside times. */
function overviewRows() {
  const rows = [], lag = summary.launch_to_start_ns, memory = summary.memory, worst = summary.worst_device;
  if (worst) {
    const device = summary.devices.find(one => one.device === worst.device && one.part === worst.part);
    rows.push(["devices", `${summary.devices.length}; most is lost on ${deviceName(device)}`]);
  }
  if (summary.whole_graphs > 0) rows.push(["graphs", `${summary.whole_graphs} launches recorded as a whole: what is in them is unknown`]);
  else if (summary.kernels !== null) rows.push(["operations", `${countText(summary.kernels, "kernel")} (${summary.distinct_kernels} different), ${summary.memops} copies and memsets`]);
  if (summary.graph_nodes > 0) rows.push(["out of graphs", `${summary.graph_nodes} of them; kernels of a graph share its launch`]);
  if (lag) rows.push(["launch to start", `median ${nsText(lag.p50)}, p99 ${nsText(lag.p99)}, longest ${nsText(lag.max)}`]);
  if (summary.gpu_ops_without_launch > 0) rows.push(["launch unknown of", countText(summary.gpu_ops_without_launch, "operation")]);
  if (summary.gpu_ops_without_time > 0) rows.push(["without a time", `${countText(summary.gpu_ops_without_time, "operation")}, in no figure`]);
  if (memory && memory.peak_allocated_bytes !== null)
    rows.push(["memory", `peak ${bytesText(memory.peak_allocated_bytes)} allocated, ${bytesText(memory.peak_reserved_bytes || 0)} reserved`]);
  return rows;
}

function overviewTable() {
  const whole = deviceTime();
  const row = (name, ns) => [name, nsText(ns), shareText(ns, whole)];
  const causes = Object.entries(idleWords).map(([cause, words]) => [words, (summary.idle_by_class_ns || {})[cause]]).filter(([, ns]) => ns);
  const rows = [["span", nsText(summary.span_ns), ""], row("busy", summary.busy_ns), row("idle", summary.idle_ns), ...causes.map(([words, ns]) => row(`idle: ${words}`, ns)),
    row("compute", summary.compute_ns),
    row("communication", summary.comm_ns), row("exposed communication", summary.exposed_comm_ns), row("copies and memsets", summary.mem_ns)];
  return table("GPU time, of all devices together", ["", "Time", "Share"], rows.filter(([, time]) => time !== "none"));
}

/** What recorders counted, and what they noted: one row a line, since a hang says where several threads stand. */
function showRecording() {
  const rows = summary.recording || [];
  if (rows.length === 0) return;
  const name = row => (row.rank === null ? "" : `rank ${row.rank}, `) + row.pid;
  const state = row => (row.complete ? "complete" : "ended without its exit handler: the end is missing") + (row.all_there === false ? "; counts do not add up" : "");
  const notes = rows.flatMap(row => row.notes.flatMap(note => note.text.split("\n").filter(line => line).map(line => [name(row), note.what, line])));
  section("recording", "Recording", table("what was launched, and recorded of it", ["Process", "Launches", "Recorded", "Dropped", "Lost", "Outside", "State"],
    rows.map(row => [name(row), row.launches === null ? "-" : String(row.launches), ...[row.recorded, row.dropped, row.lost, row.outside].map(String), state(row)])),
    ...(notes.length === 0 ? [] : [table("notes of the recorders", ["Process", "Of", "Note"], notes)]));
}

/** What is said of all figures: of what part they are, and what is not known of exposed communication. */
function overviewWords() {
  const words = [], kept = summary.kept;
  if (summary.part) words.push(`Only ${summary.part}: every figure is of that part.`);
  if (kept) words.push(`Kept: ${kept.gpu_ops} of ${kept.of_gpu_ops} GPU operations, ${kept.api_calls} of ${kept.of_api_calls} calls of CUDA.`);
  if (summary.clocks) words.push(`Clocks: ${summary.clocks.assumption}.`);
  const doubt = {inferred: "which streams waited for it is inferred, and so is what it costs", none: "no stream is known to have waited for it, so what it costs is not known"}[summary.exposed_comm_waits];
  if (summary.comm_ns && /--(stream|name) /.test(summary.part || "")) words.push("Exposed communication: what was left out may hide some of it.");
  else if (doubt) words.push(`Exposed communication: ${doubt}.`);
  return words.map(text => element("p", {}, text));
}

/** The figures of a device, stream or rank, as the text has them. */
const scopeHeads = ["Span", "Busy", "Compute", "Communication", "Exposed", "Copies and memsets", "Kernels"];

function scopeCells(row) {
  const time = value => value === null ? "-" : nsText(value);
  return [time(row.span_ns), row.busy_ns === null ? "-" : shareText(row.busy_ns, row.busy_ns + row.idle_ns), time(row.compute_ns), time(row.comm_ns), time(row.exposed_comm_ns),
    time(row.mem_ns), row.kernels === null ? "-" : String(row.kernels)];
}

function showRanks() {
  const steps = rank => rank.step_times ? [String(rank.step_times.count), nsText(rank.step_times.median_ns)] : ["0", "-"];
  showRows("ranks", "Ranks", "each rank alone", ["Rank", "Host", "Steps", "Median step", ...scopeHeads, "File"],
    (summary.ranks || []).map((rank, part) => [rankName(rank.rank, part), rank.host || "-", ...steps(rank), ...scopeCells(rank), rank.path]));
}

function deviceName(device) { return device.name ? `${gpuName(device)} ${device.name}` : gpuName(device); }

function showDevices() {
  const rows = summary.devices.flatMap(device => [[deviceName(device), ...scopeCells(device)],
    ...(device.streams.length < 2 ? [] : device.streams.map(stream => [`stream ${stream.stream}`, ...scopeCells(stream)]))]);
  showRows("devices", "Devices", "devices and their streams", ["Device", ...scopeHeads], rows);
}

function stepTimesWords() {
  const times = summary.step_times;
  if (!times) return "No steps were found.";
  return `${countText(times.count, "step")}: median ${nsText(times.median_ns)}, p95 ${nsText(times.p95_ns)}, worst ${nsText(times.worst_ns)}.`;
}

function whatIfName(one) {
  if (one.what === "kernel") return one.name;
  if (one.what === "python_line") return `what the host does at ${one.name}`;
  return one.name ? `waits in ${one.name}` : data.words.what_if[one.what];
}

function partName(part) {
  const names = {launch: "launching", host: "host", api: "call", host_wait: "returning from", between_operations: "between operations"};
  return part.what === "kernel" ? part.name : `${names[part.what] || part.what}: ${part.name || (part.what === "host" ? "nothing recorded" : "")}`;
}

const figures = [];  // [figure, how to draw it]

function plot(id, drawIt) {
  const figure = element("figure", {id});
  figures.push([figure, drawIt]);
  return figure;
}

function showPath() {
  const path = summary.critical_path;
  if (!path) return;
  const gains = path.what_if.filter(one => one.gain_ns * 500 >= path.length_ns).slice(0, 12);
  const parts = path.parts.slice(0, 12);
  const atLeast = one => one.at_least ? "at least " : "";
  const perStep = one => path.steps > 1 ? nsText(one.gain_ns / path.steps) : "-";
  section("path", "Critical path",
    plot("what-if", figure => gains.length === 0 ? say(figure, "Nothing that was asked would make the trace shorter.") :
      drawBars(figure, gains.map(one => [whatIfName(one), one.gain_ns, atLeast(one)]),
        `How much shorter ${nsText(path.length_ns)} would be if something took no time; gains do not add up.`, "what would be won",
        ["If this took no time", "Shorter by", "Share", "A step", "Takes now"],
        () => path.what_if.map(one => [whatIfName(one), atLeast(one) + nsText(one.gain_ns), shareText(one.gain_ns, path.length_ns), perStep(one), nsText(one.total_ns)]))),
    plot("path-parts", figure => drawBars(figure, parts.map(part => [partName(part), part.total_ns]),
      "What the path is made of.", "parts of the path", ["Part", "Time", "Share", "Pieces"],
      () => path.parts.slice(0, 200).map(part => [partName(part), nsText(part.total_ns), shareText(part.total_ns, path.length_ns), String(part.count)]))));
}

function gapName(cause) {
  if (cause.what === "launch_pending") return "had already launched the next operation";
  if (cause.what === "nothing_recorded") return "did nothing that was recorded";
  if (cause.what === "data_loading") return `loaded data in ${cause.name}`;
  if (cause.what === "allocation") return `took or gave back memory in ${cause.name}`;
  if (cause.what === "cuda_own") return "waited for CUDA's own work (modules, a full queue)";
  if (cause.what === "profiler") return "was held up by the profiler";
  return cause.what === "launch_unknown" ? "the launch is unknown" : `was in ${cause.name}`;
}

function lineName(line) {
  const file = line.file.split("/").slice(-2).join("/");
  return `${file}:${line.line}${line.function ? ` (${line.function})` : ""}`;
}

function showIdle() {
  if (!summary.gaps || summary.gaps.causes.length === 0) return;
  const causes = summary.gaps.causes;
  section("idle", "Idle time", plot("idle-plot", figure => drawBars(figure, causes.slice(0, 12).map(cause => [gapName(cause), cause.total_ns]),
    "Idle time of the GPU, by what the host did before the launch that ended it.", "idle time by what the host did", ["While the host", "Because of", "Idle", "Gaps"],
    () => causes.slice(0, 200).map(cause => [gapName(cause), idleWords[cause.class], nsText(cause.total_ns), String(cause.count)]))),
    ...(summary.gaps.lines ? [table("idle-lines", ["Samples", "Because of", "The host was at", "In"],
      summary.gaps.lines.slice(0, mostRows).map(line => [String(line.samples), idleWords[line.class], lineName(line), line.within || "-"]))] : []));
}

function showCommunication() {
  const all = summary.collectives;
  if (!all) return;
  // Of collectives that one rank alone recorded, or not all ranks of their group, times hold waiting: rates are lower bounds, the time of the transfer is an upper one.
  const rate = (value, row) => (value !== null && row.complete === 0 ? ">= " : "") + gigabytesText(value);
  const transfer = row => `${row.complete === 0 ? "<= " : ""}${nsText(row.median_transfer_ns ?? row.median_ns)}`;
  const who = row => row.rank === null ? gpuName(row) : rankName(row.rank, row.part);
  section("communication", "Communication", table("collectives", ["What", "By", "Group", "Ranks", "Bytes", "Count", "Time", "Waiting", "Transfer", "Spread", "Algorithm", "Bus"],
    all.rows.slice(0, mostRows).map(row => [row.collective, row.transport, row.group || "-", String(row.group_size ?? "-"), bytesText(row.bytes), String(row.count),
      nsText(row.total_ns), row.wait_ns === null ? "-" : (row.complete === 0 ? ">= " : "") + nsText(row.wait_ns), transfer(row), row.median_spread_ns === null ? "-" : nsText(row.median_spread_ns),
      rate(row.median_algorithm_gb_per_s, row), rate(row.median_bus_gb_per_s, row)])),
    ...(all.ranks.length === 0 ? [element("p", {className: "soft"}, summary.clocks ? "No collective is known of two ranks: how long they waited for one another is not known." : "One rank alone: how long it waited for others is not known.")] :
      [table("ranks that were waited for", ["Rank", "Came last", "Of", "Late", "Waited itself", "In collectives"],
        all.ranks.map(row => [who(row), String(row.last), String(row.collectives), nsText(row.late_ns), nsText(row.wait_ns), nsText(row.comm_ns)]))]),
    ...(all.longest_waits.length === 0 ? [] : [table("longest waits", ["What", "Last to come", "At", "Ranks", "Spread", "Waiting", "Transfer"],
      all.longest_waits.map(call => [call.collective, who(call.last), nsText(call.start_ns - summary.first_ns), String(call.ranks), nsText(call.spread_ns), nsText(call.wait_ns),
        nsText(call.transfer_ns)]))]));
}

/** A table of the summary, where it is there. */
function showRows(id, title, caption, heads, rows) {
  if (!rows || rows.length === 0) return;
  const shown = rows.slice(0, mostRows);
  section(id, title, table(rows.length > shown.length ? `${caption}; the first ${shown.length} of ${rows.length}` : caption, heads, shown));
}

function showTables() {
  const whole = summary.op_sum_ns || 0;
  const rows = (list, cells) => (list || []).map(cells);
  const stageText = (stage, inferred) => inferred ? `${stage} (inferred)` : stage;
  const mean = (sum, count) => count > 0 ? nsText(sum / count) : "-";
  showRows("gaps", "Longest gaps", "when a GPU was idle longest, and what the host did", ["Idle", "Since the start", "Device", "While the host", "Before"],
    rows(summary.gaps && summary.gaps.longest, row => [nsText(row.duration_ns), nsText(row.start_ns - summary.first_ns), gpuName(row),
      row.parts.map(part => `${gapName(part)} ${nsText(part.total_ns)}`).join(", "), row.ends_with]));
  showRows("queue", "Launches that wait", "how many launches waited for each device", ["Device", "Launches", "On average", "At most", "None waits"],
    rows(summary.queue, row => [gpuName(row), String(row.launches), digits(row.mean, 3), String(row.most), nsText(row.empty_ns)]));
  const stages = summary.stages || [], inferred = stages.some(row => row.inferred);
  const stageRow = row => [stageText((row.parent ? row.parent + "/" : "") + row.stage, row.inferred), nsText(row.total_ns), shareText(row.total_ns, whole),
    ...(inferred ? [row.backward_ns === null ? "" : nsText(row.backward_ns)] : []), orDash(row.idle_ns),
    row.idle_ns === null || row.busy_ns === null ? "-" : shareText(row.idle_ns, row.idle_ns + row.busy_ns), String(row.kernels), String(row.host_syncs), nsText(row.host_sync_ns)];
  const rest = ["unattributed", nsText(summary.unattributed_ns), shareText(summary.unattributed_ns, whole), ...(inferred ? [""] : []), orDash(summary.unattributed_idle_ns), "", "", "", ""];
  showRows("stages", "Stages", inferred ? "work by class; inferred: by the order of operators, no name says so" : "work by class",
    ["Stage", "GPU time", "Share", ...(inferred ? ["In backward"] : []), "Idle before", "Of its time", "Kernels", "Host syncs", "In syncs"],
    summary.stages && [...stages.map(stageRow), rest]);
  const flops = row => row.flop > 0 && row.gpu_ns > 0 ? digits(1e-3 * row.flop / row.gpu_ns, 3) : "-";
  const shapes = (summary.operators || []).some(row => row.shapes.length > 0);
  const inputs = row => row.shapes.length === 0 ? "-" : `${row.shapes[0].count}x ${row.shapes[0].inputs}`;
  showRows("operators", "Operators", "by GPU time of their own", ["Operator", "Alone", "Share", "With children", "Calls", "Host alone", "TFLOP/s", ...(shapes ? ["Of it most with"] : [])],
    rows(summary.operators, row => [row.name, nsText(row.gpu_self_ns), shareText(row.gpu_self_ns, whole), nsText(row.gpu_ns), String(row.count), nsText(row.host_self_ns), flops(row),
      ...(shapes ? [inputs(row)] : [])]));
  showRows("host-operators", "Operators on the host", "by host time of their own", ["Operator", "Host alone", "With children", "Calls", "A call", "GPU alone"],
    rows(summary.operators && [...summary.operators].sort((a, b) => b.host_self_ns - a.host_self_ns),
      row => [row.name, nsText(row.host_self_ns), nsText(row.host_ns), String(row.count), mean(row.host_self_ns, row.count), nsText(row.gpu_self_ns)]));
  showRows("annotations", "Annotations", "annotations and NVTX ranges, from the first to the last of what they launched", ["Annotation", "Projected", "GPU time", "Backward", "Host", "Ranges"],
    rows(summary.annotations, row => [row.name, nsText(row.projected_ns), nsText(row.gpu_ns), nsText(row.backward_ns), nsText(row.host_ns), String(row.count)]));
  showRows("modules", "Modules", "by GPU time", ["Module", "Forward", "Alone", "Backward", "Calls", "Host"],
    rows(summary.modules, row => [row.name, nsText(row.gpu_ns), nsText(row.gpu_self_ns), nsText(row.backward_ns), String(row.count), nsText(row.host_ns)]));
  showRows("gpu-ranges", "Ranges on the GPU", "gaps included", ["Range", "Total", "Ranges", "Median", "Longest"],
    rows(summary.gpu_ranges_by_name, row => [row.name, nsText(row.total_ns), String(row.count), nsText(row.median_ns), nsText(row.max_ns)]));
  showRows("waits", "Waits of the host", "calls in which the host waits", ["Call", "For", "Stage", "Calls", "Time"],
    rows(summary.host_syncs, row => [row.api, row.wait.replaceAll("_", " "), row.stage ? stageText(row.stage, row.stage_inferred) : "-", String(row.count), nsText(row.total_ns)]));
  showRows("copies", "Copies", "copies and memsets", ["Way", "Memory", "Count", "Bytes", "Time", "Share", "Median", "Best"],
    rows(summary.copies, row => [row.kind, row.memory || "-", String(row.count), bytesText(row.bytes), nsText(row.total_ns), shareText(row.total_ns, whole),
      gigabytesText(row.median_gb_per_s), gigabytesText(row.best_gb_per_s)]));
  const graphs = summary.graph_nodes > 0;
  showRows("kernels", "Kernels", "by total time", ["Kernel", "Total", "Share", "Count", "Median", "Longest", "Launch call", "Queued", ...(graphs ? ["In graphs"] : [])],
    rows(summary.kernels_by_name, row => [(row.attention_backend ? `[${row.attention_backend}] ` : "") + row.name, nsText(row.total_ns), shareText(row.total_ns, summary.kernel_sum_ns),
      String(row.count), nsText(row.median_ns), nsText(row.max_ns), mean(row.call_ns, row.launches), mean(row.queue_ns, row.launches), ...(graphs ? [String(row.graph_nodes)] : [])]));
  showRows("unknown", "Not known", "figures that the file does not hold", ["Figure", "Why"], Object.entries(summary.null_reasons).map(([key, why]) => [key, why]));
}

async function drawAll() {
  await Promise.all(figures.map(([figure, drawIt]) => drawIt(figure)));
  document.body.dataset.ready ??= String(Math.round(performance.now()));  // ms since the navigation
}

function onTheme() { drawAll(); }

document.getElementById("headline").textContent = printable(`${summary.path}: ${data.trace.devices.join(", ") || "no GPU"}, ${countText(summary.events, "event")}`);
section("overview", "Overview", overviewTable(), table("what it holds", ["What", "Figures"], overviewRows()), ...overviewWords());
showRecording();
showRanks();
showDevices();
section("steps", "Steps", element("p", {}, stepTimesWords()),
  plot("steps-plot", figure => data.trace.steps.length === 0 ? say(figure, `No step can be shown: ${data.trace.why}.`) : drawSteps(figure, data.trace)));
showPath();
showIdle();
showCommunication();
showTables();
drawAll();
