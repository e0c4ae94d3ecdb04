// Plots: a Vega specification, its data, and the same in words.

const specs = JSON.parse(document.getElementById("specs").textContent);
const views = new Map();  // by container
const palette = {
  light: ["#0550ae", "#b35900", "#116329", "#8250df", "#b42318", "#0f7b8a", "#7a5c00", "#a0386b"],
  dark: ["#7db7ff", "#ffab5e", "#6fdd8b", "#c6a5ff", "#ff8a80", "#5fd3e0", "#e3c65b", "#f19bc8"]};
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function seriesColours() { return dark.matches ? palette.dark : palette.light; }

/** The colours of the style sheet, by name. */
function theme() {
  const style = getComputedStyle(document.documentElement);
  const names = ["back", "ink", "soft", "line", "bad", "good", "warn", "calm", "median", "band", "level", "epoch", "best", "worst"];
  return Object.fromEntries(names.map(name => [name, style.getPropertyValue("--" + name).trim()]));
}

function config(colours) {
  return {
    background: "transparent", font: "system-ui, sans-serif",
    axis: {labelColor: colours.soft, titleColor: colours.soft, gridColor: colours.line, domainColor: colours.line,
           tickColor: colours.line, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal"}};
}

/** Draws into a figure; `words` says for those who do not see it what it shows. */
function draw(figure, name, data, signals, words, key = []) {
  clear(figure);
  const plot = element("div", {className: "plot"});
  figure.append(plot, keyList(key), element("figcaption", {}, words));
  const colours = theme();
  const all = {theme: colours, plotWidth: plot.clientWidth, ...signals};
  const spec = {...structuredClone(specs[name]), description: printable(words)};  // Vega makes it the label
  spec.signals = [...Object.entries(all).map(([key, value]) => ({name: key, value})), ...(spec.signals || [])];
  for (const source of spec.data) if (source.name in data) source.values = data[source.name];
  const view = new vega.View(vega.parse(spec, config(colours), {ast: true}),
    {expr: vega.expressionInterpreter, renderer: "svg", container: plot, hover: false});
  views.set(figure, {view, again: () => draw(figure, name, data, signals, words, key), width: plot.clientWidth});
  return view.runAsync();
}

function clear(figure) {
  const there = views.get(figure);
  if (there) there.view.finalize();
  views.delete(figure);
  figure.replaceChildren();
}

/** Entries [sign, colour, text]; a sign of "" is a square. */
function keyList(key) {
  return element("ul", {className: "key"}, ...key.map(([sign, colour, text]) => {
    const mark = element("i", {"aria-hidden": "true"}, sign);
    mark.style[sign ? "color" : "background"] = colour;
    return element("li", {}, mark, text);
  }));
}

function drawAgain(always) {
  for (const [figure, {again, width}] of [...views]) {
    const now = figure.clientWidth;
    if (always || now !== width) again();
  }
}
dark.addEventListener("change", () => onTheme());
let resizing = 0;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => drawAgain(false), 150);
});
