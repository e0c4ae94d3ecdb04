// Plots: a Vega specification, its data, and the same in words.

const specs = JSON.parse(document.getElementById("specs").textContent);
const views = new Map();  // by container
const palette = {
  light: ["#0550ae", "#b35900", "#116329", "#8250df", "#b42318", "#0f7b8a", "#7a5c00", "#a0386b", "#4f6d00", "#5c4b99", "#00695c", "#7a4a3a"],
  dark: ["#7db7ff", "#ffab5e", "#6fdd8b", "#c6a5ff", "#ff8a80", "#5fd3e0", "#e3c65b", "#f19bc8", "#b5d46a", "#a79be8", "#4dc9b0", "#d1a28f"]};
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

/** The numbers of a plot, made when they are asked for: {caption, heads, rows()}. */
function plotTable(numbers, open) {
  const details = element("details", {}, element("summary", {}, `Table: ${numbers.caption}`));
  const fill = () => { if (details.children.length === 1) details.append(table(numbers.caption, numbers.heads, numbers.rows())); };
  details.addEventListener("toggle", fill);
  details.open = open;
  return details;
}

/** What a figure says where there is nothing to draw. */
function say(figure, words, numbers = null) {
  const open = figure.querySelector("details[open]") !== null;
  clear(figure);
  figure.append(element("figcaption", {}, words), ...(numbers ? [plotTable(numbers, open)] : []));
}

/** Powers of ten between two positive values, with their doubles and fives where these are few. */
function logTicks(low, high) {
  const ticks = steps => {
    const list = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      list.push(...steps.map(step => Number(`${step}e${power}`)));
    return list.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
  };
  const fine = ticks([1, 2, 5]);
  return fine.length <= 8 ? fine : ticks([1]);
}

/** Marks that have words of their own, in the order in which they were drawn. */
function marksWithTips(view) {
  const found = [];
  const walk = item => {
    if (item.tooltip) found.push(item);
    for (const child of item.items || []) walk(child);
  };
  walk(view.scenegraph().root);
  return found;
}

/** The line below a plot in which arrow keys say, mark by mark, what a pointer over them would. */
function tipsByKeyboard(plot, view) {
  const tip = element("p", {className: "tip", role: "status"});
  let at = -1, marked = null;
  const leave = () => {
    if (marked) marked.style.stroke = marked.style.strokeWidth = "";
    marked = null;
    tip.textContent = "";
  };
  const show = (items, index) => {
    leave();
    at = Math.max(0, Math.min(index, items.length - 1));
    marked = items[at]._svg || null;
    if (marked) Object.assign(marked.style, {stroke: theme().ink, strokeWidth: "2"});
    tip.textContent = `${printable(items[at].tooltip)} (${at + 1} of ${items.length})`;
  };
  plot.tabIndex = 0;
  plot.setAttribute("aria-keyshortcuts", "ArrowRight ArrowLeft Home End Escape");
  plot.addEventListener("focusout", leave);
  plot.addEventListener("keydown", event => {
    const items = marksWithTips(view);
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: items.length - 1};
    if (event.key === "Escape") leave();
    if (!(event.key in to) || items.length === 0) return;
    event.preventDefault();
    show(items, to[event.key]);
  });
  return tip;
}

/** Draws into a figure; `words` and `numbers` say for those who do not see it what it shows. */
function draw(figure, name, data, signals, words, key = [], numbers = null) {
  const open = figure.querySelector("details[open]") !== null;
  clear(figure);
  const plot = element("div", {className: "plot"});
  figure.append(plot, keyList(key), element("figcaption", {}, words), ...(numbers ? [plotTable(numbers, open)] : []));
  const colours = theme();
  const all = {theme: colours, plotWidth: plot.clientWidth, ...signals};
  const spec = {...structuredClone(specs[name]), description: printable(words)};  // Vega makes it the label
  spec.signals = [...Object.entries(all).map(([key, value]) => ({name: key, value})), ...(spec.signals || [])];
  for (const source of spec.data) if (source.name in data) source.values = data[source.name];
  const view = new vega.View(vega.parse(spec, config(colours), {ast: true}),
    {expr: vega.expressionInterpreter, renderer: "svg", container: plot, hover: false});
  plot.after(tipsByKeyboard(plot, view));
  views.set(figure, {view, again: () => draw(figure, name, data, signals, words, key, numbers), width: plot.clientWidth});
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
