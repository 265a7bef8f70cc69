// How sure is the order, and how did training go?
// ---- order heat map: one path per shade, of runs of equal cells
function drawOrder() {
  const d = data.order.nodes.length;
  const levels = 20;
  const { unusual, usual } = data.order;
  const known = new Map(unusual.map(([i, j, p]) => [i * d + j, p]));
  const precedes = (i, j) => (i === j ? null
    : i < j ? known.get(i * d + j) ?? usual : 1 - (known.get(j * d + i) ?? usual));
  at("order-hint").textContent = data.order.posterior
    ? "Posterior probability that the column of each row precedes that of each column: that of being its cause, directly or " +
      "not, and one half where neither causes the other. Sorted by the learned order."
    : "Share of the learned distribution over orders in which the column of each row precedes that of each column; sorted by " +
      "the order with the largest share. It says little about how sure an order is.";
  const paths = Array.from({ length: levels + 1 }, () => []);
  for (let i = 0; i < d; i += 1) {
    for (let j = 0, start = 0; j < d; j = start) {
      const level = i === j ? null : Math.round(levels * precedes(i, j));
      for (start = j + 1; start < d && start !== i && level !== null && Math.round(levels * precedes(i, start)) === level;) start += 1;
      if (level) paths[level].push(`M${j} ${i}h${start - j}v1h${j - start}z`);
    }
  }
  const labels = data.order.nodes.map((node) => graph.labels[node]);
  const side = Math.max(1, ...labels.map((label) => label.length)) * 0.46 + 0.4;
  const wide = d > 20; // alone in its row: beside the training no column's name could be read
  const cell = Math.max(9, Math.min(30, (wide ? 1040 : 620) / (d + side)));
  at("order-section").classList.toggle("wide", wide);
  const svg = draw("svg", { viewBox: `${-side} ${-side} ${d + side} ${d + side}`, role: "img",
    "aria-label": "Heat map of how often each column precedes each other." });
  // It shrinks with the page until names are too small to read; from then on it scrolls sideways, never downwards.
  svg.style.width = `min(100%, ${cell * (d + side)}px)`;
  svg.style.minWidth = `${Math.min(9, cell) * (d + side)}px`;
  if (9 * (d + side) > 1040) at("order-hint").append(" Scroll sideways to see all of it.");
  paths.forEach((runs, level) => {
    if (runs.length) svg.append(draw("path", { class: "cell", d: runs.join(""), "fill-opacity": level / levels }));
  });
  svg.append(draw("path", { class: "diagonal", d: labels.map((_, i) => `M${i} ${i}h1v1h-1z`).join("") }),
    draw("rect", { class: "frame", x: 0, y: 0, width: d, height: d }));
  labels.forEach((label, i) => {
    const style = { "font-size": 0.7, "dominant-baseline": "central" };
    svg.append(draw("text", { x: -0.3, y: i + 0.5, "text-anchor": "end", ...style }, label),
      draw("text", { transform: `translate(${i + 0.5} -0.3) rotate(-90)`, ...style }, label));
  });
  svg.addEventListener("pointermove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [i, j] = [Math.floor(point.y), Math.floor(point.x)];
    if (i < 0 || j < 0 || i >= d || j >= d || i === j) return hideTip();
    const [row, column] = [data.names[data.order.nodes[i]], data.names[data.order.nodes[j]]];
    return showTip(`${row} before ${column}: ${show(precedes(i, j))}`, event);
  });
  svg.addEventListener("pointerleave", hideTip);
  at("order").append(svg, make("div", { class: "scale" }, "0", make("span", { class: "ramp" }), "1"));
}

// ---- line charts
function chart(title, lines, mark, unit) {
  const [width, height, left, bottom, top] = [560, 250, 58, 34, 8];
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (high - low < 1e-12) { low -= 0.5; high += 0.5; }
  const steps = Math.max(2, ...lines.map((line) => line.values.length));
  const x = (step) => left + ((step - 1) / (steps - 1)) * (width - left - 12);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const value of ticks(low, high)) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - 12, y1: y(value), y2: y(value) }),
      draw("text", { class: "tick", x: left - 8, y: y(value), "text-anchor": "end", "dominant-baseline": "central" }, show(value, 4)));
  }
  for (const step of ticks(1, steps).filter(Number.isInteger)) {
    svg.append(draw("text", { class: "tick", x: x(step), y: height - bottom + 16, "text-anchor": "middle" }, String(step)));
  }
  svg.append(draw("line", { class: "axis", x1: left, x2: width - 12, y1: height - bottom, y2: height - bottom }),
    draw("text", { class: "tick", x: width - 12, y: height - 4, "text-anchor": "end" }, unit));
  if (mark !== null && mark !== undefined) {
    svg.append(draw("line", { class: "mark", x1: x(mark + 0.5), x2: x(mark + 0.5), y1: top, y2: height - bottom }),
      draw("text", { class: "tick", x: x(mark + 0.5) + 4, y: top + 9 }, "refined"));
  }
  for (const line of lines) {
    let path = "";
    line.values.forEach((value, i) => { if (value !== null) path += `${path ? "L" : "M"}${x(i + 1).toFixed(1)} ${y(value).toFixed(1)}`; });
    const element = draw("path", { class: `line ${line.style || ""}`, d: path });
    if (line.name) element.append(draw("title", {}, line.name));
    svg.append(element);
  }
  const legend = make("ul", { class: "legend" }, ...lines.filter((line) => line.legend).map((line) => make("li", {},
    draw("svg", { width: 26, height: 8, "aria-hidden": "true" }, draw("path", { class: `line ${line.style || ""}`, d: "M0 4H26" })), line.name)));
  return make("div", {}, make("h3", {}, title), svg, legend);
}
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(+(i * step).toPrecision(10));
  return found;
}
function drawTraining() {
  const training = data.training;
  if (!training) {
    at("training").append(make("p", { class: "hint" }, "The order was given, not learned: there were no training steps."));
    return;
  }
  at("training").append(chart("Loss per row", [
    { name: "expected loss + regularization", values: training.objective, legend: true },
    { name: "most probable order", values: training.mode_loss, style: "second", legend: true },
  ], training.refined_at, "step"));
}
