// Rooflines: what each variant makes of the device's arithmetic and memory.

/** Cells with their rates and their share of the roof above them, which is min(FLOP/s, bytes/s * FLOP/byte). */
function rooflineCells(contest, variants) {
  const [mostFlop] = contest.ceilings.flop_per_s, [mostBytes] = contest.ceilings.bytes_per_s;
  return cellsOf(contest, variants).filter(cell => cell.bytes > 0).map(cell => {
    const flopRate = cell.flop / cell.ns * 1e9, byteRate = cell.bytes / cell.ns * 1e9;
    const arithmetic = mostFlop > 0 ? flopRate / mostFlop : 0, memory = mostBytes > 0 ? byteRate / mostBytes : 0;
    const share = Math.max(arithmetic, memory), bound = arithmetic > memory ? "arithmetic" : "memory";
    return {...cell, flopRate, byteRate, share, bound, intensity: cell.flop / cell.bytes,
            tip: printable(`${cell.name} at ${cell.length}: ${rateText(flopRate, "FLOP/s")}, ${rateText(byteRate, "B/s")}, ` +
                           `${digits(100 * share, 3)} % of the roof (${bound})`)};
  });
}

function rooflineTable(contest, cells) {
  return {caption: "rates and shares of the roof",
          heads: ["Variant", contest.axis, "FLOP per byte", "FLOP/s", "Bytes/s", "Share of the roof", "Roof"],
          rows: () => cells.map(cell => [cell.name, String(cell.length), digits(cell.intensity, 3), rateText(cell.flopRate, "FLOP/s"),
                                         rateText(cell.byteRate, "B/s"), `${digits(100 * cell.share, 3)} %`, cell.bound])};
}

function rooflineWords(contest, cells) {
  const [flop, flopBy] = contest.ceilings.flop_per_s, [bytes, bytesBy] = contest.ceilings.bytes_per_s;
  const best = cells.reduce((a, b) => a.share >= b.share ? a : b);
  return "FLOP and bytes that the mathematics needs, by the measured time. The roof is the highest rate that was measured: " +
    (flop > 0 ? `${rateText(flop, "FLOP/s")} (${flopBy}), ` : "") + `${rateText(bytes, "B/s")} (${bytesBy}). ` +
    `Nearest to it: ${best.name} at ${best.length} with ${digits(100 * best.share, 3)} % (${best.bound}).`;
}

/** The roof as a line over [low, high] FLOP per byte, with its ridge. */
function roofLine(contest, low, high) {
  const [flop] = contest.ceilings.flop_per_s, [bytes] = contest.ceilings.bytes_per_s;
  return [low, flop / bytes, high].map(intensity => ({intensity, flopRate: Math.min(flop, bytes * intensity)}));
}

function drawRoofline(contest, lines) {
  const figure = document.getElementById("roofline-plot");
  const cells = rooflineCells(contest, lines), numbers = rooflineTable(contest, cells);
  if (cells.length === 0) return say(figure, "The FLOP and bytes of this problem are not known.");
  const points = cells.filter(cell => cell.flop > 0);
  if (points.length === 0) return say(figure, "There is no arithmetic to plot. " + rooflineWords(contest, cells), numbers);
  const ridge = contest.ceilings.flop_per_s[0] / contest.ceilings.bytes_per_s[0];
  const xs = [ridge, ...points.map(point => point.intensity)];
  const roof = roofLine(contest, Math.min(...xs) / 2, Math.max(...xs) * 2);
  const ys = [...roof, ...points].map(one => one.flopRate);
  const names = lines.map(variant => shortName(contest, variant.name));
  return draw(figure, "roofline", {points, roof},
    {names, colours: seriesColours(), xTicks: logTicks(roof[0].intensity, roof[2].intensity),
     yTicks: logTicks(Math.min(...ys), Math.max(...ys))},
    rooflineWords(contest, cells), [["━", theme().level, "roof"], ...keyOf(names)], numbers);
}
