// What does each cause contribute to its effect? A curve over numbers, points over counts, a bar per level.
function drawEffects() {
  const effects = data.effects;
  if (!effects || !(effects.panels.length + effects.without_range)) {
    at("effects-section").hidden = true;
    return;
  }
  at("effects").append(...effects.panels.map(drawPanel));
  const missing = effects.without_range;
  at("effects-more").textContent = [
    effects.more ? `${effects.more} more, less sure or weaker, ${effects.more > 1 ? "are" : "is"} not shown.` : "",
    missing ? `${missing} of causes that are numbers ${missing > 1 ? "are" : "is"} left out: their values are not known. ` +
      "Pass the rows as X to have them drawn." : "",
  ].join(" ").trim();
}
function clip(text) { // both ends of a long one: the end may be all that differs
  const letters = [...text];
  return letters.length > 12 ? `${letters.slice(0, 6).join("")}…${letters.slice(-5).join("")}` : text;
}
const seriesOf = (line) => `series series-${line % 8}`;

function drawPanel(panel) {
  const bars = panel.shape === "bars";
  const [width, left, right, top] = [320, 46, 8, 24];
  const m = panel.values.length;
  const slot = (width - left - right) / m;
  const labels = panel.levels.map(clip);
  const longest = Math.max(0, ...labels.map((label) => [...label].length));
  const upright = bars && longest * 6.4 > slot; // labels side by side would touch
  const bottom = upright ? 26 + 6.2 * longest : 36;
  const height = 150 + top + bottom;
  const heights = panel.heights.flat().filter((value) => value !== null);
  let [low, high] = [0, 0];
  for (const value of heights) { low = Math.min(low, value); high = Math.max(high, value); }
  if (high - low < 1e-12) { low -= 0.5; high += 0.5; }
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const place = panel.logarithmic ? Math.log : (value) => value;
  const [first, last] = [place(panel.values[0]), place(panel.values[m - 1])];
  const x = bars ? (value) => left + (value + 0.5) * slot
    : (value) => left + 6 + (last > first ? (place(value) - first) / (last - first) : 0.5) * (width - left - right - 12);
  const [cause, effect] = [data.names[panel.cause], data.names[panel.effect]];
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Contribution of ${cause} to ${effect}, ${panel.unit}` });
  svg.append(draw("text", { class: "tick", x: 2, y: 12 }, panel.unit));
  for (const value of ticks(low, high)) {
    svg.append(draw("line", { class: value === 0 ? "axis" : "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      draw("text", { class: "tick", x: left - 6, y: y(value), "text-anchor": "end", "dominant-baseline": "central" }, show(value, 4)));
  }
  if (bars) drawLevelNames(svg, labels, upright, x, slot, height - bottom);
  else {
    for (const value of valueTicks(panel)) {
      svg.append(draw("line", { class: "axis", x1: x(value), x2: x(value), y1: height - bottom, y2: height - bottom + 4 }),
        draw("text", { class: "tick", x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, show(value, 4)));
    }
  }
  svg.append(draw("text", { class: "tick", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" },
    graph.labels[panel.cause]));
  panel.heights.forEach((line, i) => svg.append(drawSeries(panel, line, i, x, y, slot)));
  followPointer(svg, panel, x);
  const legend = make("ul", { class: "legend" }, ...panel.lines.map((name, i) => make("li", {},
    draw("svg", { width: 14, height: 10, "aria-hidden": "true", class: seriesOf(i) },
      draw("rect", { class: "bar", width: 14, height: 10 })), name)));
  return make("div", { class: "panel" }, make("h3", {}, `${cause} → ${effect}`), svg, legend,
    make("p", { class: "numbers" }, [`norm ${show(panel.norm)}`,
      ...(judged ? [`probability ${show(panel.probability)}`, `reverse ${show(panel.reverse)}`] : []),
      ...(panel.open ? ["direction open"] : [])].join(", ")));
}
function drawLevelNames(svg, labels, upright, x, slot, floor) {
  const step = Math.ceil(11 / slot); // of many, names stand under some bars
  labels.forEach((label, i) => {
    if (upright && i % step) return;
    svg.append(upright
      ? draw("text", { class: "tick", transform: `translate(${x(i)} ${floor + 6}) rotate(-90)`, "text-anchor": "end",
        "dominant-baseline": "central" }, label)
      : draw("text", { class: "tick", x: x(i), y: floor + 16, "text-anchor": "middle" }, label));
  });
}
function valueTicks(panel) {
  const [low, high] = [panel.values[0], panel.values[panel.values.length - 1]];
  if (low === high) return [low];
  if (!panel.logarithmic) return ticks(low, high).filter((value) => panel.shape === "line" || Number.isInteger(value));
  return [low, Math.sqrt(low * high), high].map((value) => +value.toPrecision(2)).filter((value) => value >= low && value <= high);
}
function drawSeries(panel, line, i, x, y, slot) {
  const group = draw("g", { class: seriesOf(i) });
  const known = line.map((value, at) => [panel.values[at], value]).filter(([, value]) => value !== null);
  if (panel.shape === "bars") {
    const wide = (0.8 * slot) / panel.heights.length;
    for (const [value, height] of known) {
      group.append(draw("rect", { class: "bar", x: (x(value) - 0.4 * slot + i * wide).toFixed(2), width: Math.max(0.5, 0.94 * wide).toFixed(2),
        y: Math.min(y(0), y(height)).toFixed(2), height: Math.max(0.8, Math.abs(y(0) - y(height))).toFixed(2) }));
    }
    return group;
  }
  const path = known.map(([value, height], at) => `${at ? "L" : "M"}${x(value).toFixed(1)} ${y(height).toFixed(1)}`).join("");
  group.append(draw("path", { class: panel.shape === "points" ? "line thin" : "line", d: path }));
  if (panel.shape === "points") {
    for (const [value, height] of known) group.append(draw("circle", { class: "dot", cx: x(value).toFixed(1), cy: y(height).toFixed(1), r: 2.6 }));
  }
  return group;
}
// The value of the cause that is nearest to the pointer, and all that it contributes.
function followPointer(svg, panel, x) {
  svg.addEventListener("pointermove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let nearest = 0;
    panel.values.forEach((value, i) => { if (Math.abs(x(value) - point.x) < Math.abs(x(panel.values[nearest]) - point.x)) nearest = i; });
    const level = panel.levels.length ? panel.levels[nearest] : show(panel.values[nearest], 4);
    showTip([`${data.names[panel.cause]} = ${level}`, ...panel.heights.map((line, i) =>
      `${panel.lines.length ? `${panel.lines[i]}: ` : ""}${show(line[nearest])}`), panel.unit].join("\n"), event);
  });
  svg.addEventListener("pointerleave", hideTip);
}
