// Memory: what a variant's workspace takes beside its tensors.

/** Bytes at which the axis has a line. */
function byteTicks(most) {
  return [0, ...[2 ** 10, 2 ** 15, 2 ** 20, 2 ** 25, 2 ** 30, 2 ** 35, 2 ** 40].filter(tick => tick <= most)];
}

/** The tensors at each length: the least that a variant has to read and write. */
function tensorsOf(contest) {
  return contest.lengths.map(length => ({length, bytes: Math.min(...contest.variants
    .map(variant => variant.cells.find(one => one[0] === length)).filter(Boolean).map(cell => cell[6]))}));
}

function drawMemory(contest, lines) {
  const figure = document.getElementById("memory-plot");
  const cells = cellsOf(contest, lines).filter(cell => cell.workspace !== null)
    .map(cell => ({...cell, tip: printable(`${cell.name} at ${cell.length}: ${bytesText(cell.workspace)} of workspace`)}));
  if (cells.length === 0) return say(figure, "No variant of this problem stated its workspace.");
  const names = lines.map(variant => shortName(contest, variant.name)), tensors = tensorsOf(contest);
  const most = Math.max(...cells.map(cell => cell.workspace), ...tensors.map(one => one.bytes));
  const largest = cells.reduce((a, b) => a.workspace >= b.workspace ? a : b);
  const ticks = byteTicks(most);
  return draw(figure, "memory", {cells, tensors},
    {names, colours: seriesColours(), axis: contest.axis, lengths: contest.lengths, ticks,
     tickTexts: Object.fromEntries(ticks.map(tick => [String(tick), bytesText(tick)]))},
    `Workspace by ${contest.axis}, and the tensors that any variant reads and writes. ` +
    `The largest workspace: ${largest.name} at ${largest.length} with ${bytesText(largest.workspace)}.`,
    [["╌", theme().level, "tensors"], ...keyOf(names)],
    {caption: `workspace by ${contest.axis}`, heads: [contest.axis, "Tensors", ...names],
     rows: () => tensors.map(({length, bytes}) => [String(length), bytesText(bytes), ...names.map(name => {
       const cell = cells.find(one => one.name === name && one.length === length);
       return cell ? bytesText(cell.workspace) : "";
     })])});
}

function memoryRow(contest) {
  const last = contest.lengths.at(-1);
  const there = contest.variants.map(variant => ({name: shortName(contest, variant.name), cell: variant.cells.find(one => one[0] === last)}))
    .filter(({cell}) => cell);
  const fastest = there.reduce((a, b) => a.cell[1] <= b.cell[1] ? a : b);
  const largest = there.reduce((a, b) => (a.cell[7] || 0) >= (b.cell[7] || 0) ? a : b);
  return [contestLink(contest), String(last), bytesText(fastest.cell[6]), `${bytesText(fastest.cell[7])} (${fastest.name})`,
          `${bytesText(largest.cell[7])} (${largest.name})`];
}

/** A row for each problem at its longest length: the fastest variant, and the one with the largest workspace. */
function memoryTable() {
  return plotTable({caption: "memory of all stages at their longest lengths",
                    heads: ["Problem", "Length", "Tensors", "Workspace of the fastest", "Largest workspace"],
                    rows: () => data.contests.map(memoryRow)}, false);
}
