// How is the graph drawn, moved, and thinned out by probability?
const EM = 15; // pixels of one em where the graph has room
const strongest = Math.max(1e-12, ...graph.edges.map((edge) => edge.norm || 0));
const moved = new Set();
let centres = graph.centres.map((point) => point.slice());

const judged = graph.threshold !== null; // whether probabilities are known

function kindOf(edge) {
  return edge.verdict || (edge.learned ? "learned" : "outside");
}
function describe(edge) {
  const lines = [`${data.names[edge.cause]} ${edge.open ? "—" : "→"} ${data.names[edge.effect]}`];
  if (edge.learned) lines.push(`weight ${show(edge.weight)}`, `norm ${show(edge.norm)}`);
  if (judged) lines.push(`probability ${show(edge.probability)}`, `reverse ${show(edge.reverse)}`);
  if (edge.open) lines.push("direction open");
  if (edge.frequency !== null) lines.push(`in ${show(100 * edge.frequency)} % of resamples`);
  if (edge.verdict) lines.push(edge.verdict);
  else if (!edge.learned) lines.push("not in the learned graph");
  return lines.join("\n");
}
// Where the ray from the middle of a node towards a point leaves its box.
function border(node, x, y) {
  const [cx, cy] = centres[node];
  const stretch = Math.max(Math.abs(x - cx) / (graph.widths[node] / 2), Math.abs(y - cy) / (graph.height / 2), 1e-9);
  return [cx + (x - cx) / stretch, cy + (y - cy) / stretch];
}
function curveOf(edge) {
  if (edge.curve && !moved.has(edge.cause) && !moved.has(edge.effect)) return edge.curve;
  const [a, b] = [centres[edge.cause], centres[edge.effect]];
  const bend = edge.learned ? 0.06 : 0.2;
  const [mx, my] = [(a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - bend * (b[0] - a[0])];
  const [start, end] = [border(edge.cause, mx, my), border(edge.effect, mx, my)];
  const towards = (point) => [point[0] + (2 / 3) * (mx - point[0]), point[1] + (2 / 3) * (my - point[1])];
  return [...start, ...towards(start), ...towards(end), ...end];
}
function place(edge) {
  const points = curveOf(edge).slice();
  const n = points.length;
  if (edge.head) placeHead(edge, points);
  let path = `M${points[0]} ${points[1]}`;
  for (let i = 2; i < n; i += 6) path += `C${points.slice(i, i + 6).join(" ")}`;
  edge.shaft.setAttribute("d", path);
  edge.reach.setAttribute("d", path);
}
// The head at the end of a curve, which then ends where the head begins.
function placeHead(edge, points) {
  const n = points.length;
  const [tipX, tipY] = [points[n - 2], points[n - 1]];
  let [dx, dy] = [tipX - points[n - 4], tipY - points[n - 3]];
  const length = Math.hypot(dx, dy) || 1;
  [dx, dy] = [dx / length, dy / length];
  const size = 0.55 + 1.2 * edge.width;
  const [bx, by] = [tipX - size * dx, tipY - size * dy];
  const half = 0.4 * size;
  edge.head.setAttribute("points",
    `${tipX},${tipY} ${bx - half * dy},${by + half * dx} ${bx + half * dy},${by - half * dx}`);
  points.splice(n - 2, 2, bx, by);
}

function drawGraph() {
  const [width, height] = graph.size;
  const pad = 0.6;
  const svg = draw("svg", {
    viewBox: `${-pad} ${-pad} ${width + 2 * pad} ${height + 2 * pad}`,
    role: "img", "aria-label": "The graph; the table of edges below lists all of it.",
  });
  const natural = EM * (width + 2 * pad);
  svg.style.width = `min(100%, ${natural}px)`;
  svg.style.minWidth = `${0.55 * natural}px`; // smaller letters cannot be read: scroll instead
  svg.style.margin = "0 auto";
  const [edgeLayer, nodeLayer] = [draw("g"), draw("g")];
  for (const edge of graph.edges) {
    edge.width = 0.06 + (edge.learned ? (0.14 * edge.norm) / strongest : 0);
    edge.shaft = draw("path", { class: "shaft", "stroke-width": edge.width });
    edge.head = edge.open ? null : draw("polygon", { class: "head" });
    edge.reach = draw("path", { class: "reach" });
    const parts = [edge.shaft, edge.head, edge.reach].filter((part) => part !== null);
    edge.element = draw("g", { class: `edge ${kindOf(edge)}${edge.open ? " open" : ""}` }, ...parts);
    edge.element.style.opacity = edge.verdict === "missing" ? 0.9 : judged ? 0.2 + 0.8 * edge.probability : 1;
    if (judged) edge.element.dataset.probability = edge.probability;
    edge.element.addEventListener("pointermove", (event) => showTip(describe(edge), event));
    edge.element.addEventListener("pointerleave", hideTip);
    place(edge);
    edgeLayer.append(edge.element);
  }
  const linked = new Set(graph.edges.filter((e) => e.learned || e.verdict).flatMap((e) => [e.cause, e.effect]));
  const nodes = graph.labels.map((label, node) => {
    const box = draw("rect", {
      x: -graph.widths[node] / 2, y: -graph.height / 2, width: graph.widths[node], height: graph.height, rx: 0.55,
    });
    const text = draw("text", { "text-anchor": "middle", "dominant-baseline": "central", "font-size": 1 }, label);
    const element = draw("g", {
      class: linked.has(node) ? "node" : "node alone", tabindex: 0, role: "button",
      "aria-label": `${data.names[node]}; arrow keys move it`,
    }, draw("title", {}, data.names[node]), box, text);
    nodeLayer.append(element);
    makeMovable(element, node, svg);
    return { element, text };
  });
  svg.append(edgeLayer, nodeLayer);
  at("graph").append(svg);
  nodes.forEach(({ element, text }, node) => {
    putNode(element, node);
    const room = graph.widths[node] - 0.6;
    if (text.getComputedTextLength() > room) {
      text.setAttribute("textLength", room);
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  });
  return nodes;
}
function putNode(element, node) {
  element.setAttribute("transform", `translate(${centres[node][0]} ${centres[node][1]})`);
}
function moveNode(element, node, x, y) {
  centres[node] = [Math.min(Math.max(x, 0), graph.size[0]), Math.min(Math.max(y, 0), graph.size[1])];
  moved.add(node);
  putNode(element, node);
  for (const edge of graph.edges) if (edge.cause === node || edge.effect === node) place(edge);
}
function makeMovable(element, node, svg) {
  let grip = null;
  const locate = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  element.addEventListener("pointerdown", (event) => {
    const [x, y] = locate(event);
    grip = [centres[node][0] - x, centres[node][1] - y];
    element.setPointerCapture(event.pointerId);
    element.classList.add("held");
  });
  element.addEventListener("pointermove", (event) => {
    if (grip === null) return;
    const [x, y] = locate(event);
    moveNode(element, node, x + grip[0], y + grip[1]);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, () => { grip = null; element.classList.remove("held"); });
  }
  const steps = { ArrowLeft: [-0.5, 0], ArrowRight: [0.5, 0], ArrowUp: [0, -0.5], ArrowDown: [0, 0.5] };
  element.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    moveNode(element, node, centres[node][0] + step[0], centres[node][1] + step[1]);
  });
}

// ---- which edges are shown
const slider = at("threshold");
function isShown(edge) {
  if (edge.verdict === "missing" && at("missing").checked) return true;
  if (!edge.learned && !at("others").checked) return false;
  if (!judged) return edge.learned;
  return (edge.learned || edge.probability > 0) && edge.probability >= Number(slider.value) - 1e-9;
}
function update() {
  at("threshold-value").textContent = Number(slider.value).toFixed(2);
  const counts = { learned: 0, missing: 0, outside: 0 };
  for (const edge of graph.edges) {
    const shown = isShown(edge);
    edge.element.classList.toggle("hidden", !shown);
    edge.row.hidden = !shown;
    if (shown) counts[edge.learned ? "learned" : edge.verdict || "outside"] += 1;
  }
  const total = graph.edges.filter((edge) => edge.learned).length;
  at("shown").textContent = `${counts.learned} of ${total} learned edges shown` +
    (counts.missing ? `, ${counts.missing} missing` : "") +
    (counts.outside ? `, ${counts.outside} outside the learned graph` : "");
  drawLegend();
}
const WORDS = { learned: "learned", outside: "not in the learned graph, but possible", open: "direction open" };
function drawLegend() {
  const counts = {};
  for (const edge of graph.edges.filter(isShown)) {
    for (const kind of [kindOf(edge), ...(edge.open ? ["open"] : [])]) counts[kind] = (counts[kind] || 0) + 1;
  }
  at("legend").replaceChildren(...["correct", "wrong", "reversed", "missing", "learned", "outside", "open"]
    .filter((kind) => counts[kind])
    .map((kind) => make("li", {}, draw("svg", { width: 34, height: 10, viewBox: "0 0 3.4 1", "aria-hidden": "true" },
      draw("g", { class: `edge ${kind}` },
        draw("path", { class: "shaft", d: kind === "open" ? "M0 .5H3.4" : "M0 .5H2.7", "stroke-width": 0.18 }),
        ...(kind === "open" ? [] : [draw("polygon", { class: "head", points: "3.4,.5 2.6,.85 2.6,.15" })]))),
    `${counts[kind]} ${WORDS[kind] || kind}`)));
}
function explainGraph() {
  const open = graph.edges.some((edge) => edge.open);
  at("graph-hint").textContent = `Causes stand on the left. Width shows norm${judged ? ", opacity probability" : ""}. ` +
    (open ? "A line without a head is an edge whose direction is open: its reverse has at least a quarter of the probability of both. " : "") +
    "Drag nodes to move them; hover an edge for its numbers.";
  at("caution").hidden = !data.caution;
  at("caution").textContent = data.caution;
  for (const control of document.querySelectorAll(".likely")) control.hidden = !judged;
}
