// Where are values missing, and what does it depend on?
function drawGaps() {
  const gaps = data.gaps;
  at("gaps-section").hidden = !gaps;
  if (!gaps) return;
  define(at("gaps-facts"), gaps.facts);
  for (const note of gaps.notes) at("gaps-notes").append(make("p", { class: "note" }, note));
  const [d, blocks] = [gaps.columns.length, gaps.shares.length];
  if (!blocks) return; // rows were read chunk by chunk
  const labels = gaps.columns.map((column) => graph.labels[column]);
  const side = Math.max(1, ...labels.map((label) => label.length)) * 0.46 + 0.4;
  const [width, height] = [36, d];
  const svg = draw("svg", { viewBox: `${-side} -1 ${width + side + 0.2} ${height + 2.4}`, role: "img",
    "aria-label": "Map of missing values: a line per column, from the first row on the left to the last on the right." });
  svg.style.width = `min(100%, ${Math.max(12, Math.min(22, 700 / d)) * (width + side)}px)`;
  const across = width / blocks;
  gaps.shares.forEach((block, b) => block.forEach((share, i) => {
    if (share > 0) {
      svg.append(draw("rect", { class: "cell", x: b * across, y: i, width: across, height: 1, "fill-opacity": 0.15 + 0.85 * share }));
    }
  }));
  svg.append(draw("rect", { class: "frame", x: 0, y: 0, width, height }));
  const style = { "font-size": 0.7, "dominant-baseline": "central" };
  labels.forEach((label, i) => svg.append(draw("text", { x: -0.3, y: i + 0.5, "text-anchor": "end", ...style }, label)));
  svg.append(draw("text", { x: 0, y: height + 0.8, ...style }, "first row"),
    draw("text", { x: width, y: height + 0.8, "text-anchor": "end", ...style }, "last row"));
  svg.addEventListener("pointermove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const [i, b] = [Math.floor(point.y), Math.floor(point.x / across)];
    if (i < 0 || b < 0 || i >= d || b >= blocks) return hideTip();
    const [first, last] = gaps.rows[b];
    return showTip(`${data.names[gaps.columns[i]]}, rows ${first} to ${last}: ${show(100 * gaps.shares[b][i])} % missing`, event);
  });
  svg.addEventListener("pointerleave", hideTip);
  at("gaps").append(svg, make("div", { class: "scale" }, "none missing", make("span", { class: "ramp" }), "all"));
}
