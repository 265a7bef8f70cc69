// Which edges are there, and what are the data like?
// ---- table of edges
function drawTable() {
  const columns = [
    ["cause", (e) => data.names[e.cause]], ["effect", (e) => data.names[e.effect]],
    ["weight", (e) => e.weight], ["norm", (e) => e.norm],
  ];
  if (judged) {
    columns.push(["probability", (e) => e.probability], ["reverse", (e) => e.reverse],
      ["direction", (e) => (e.open ? "open" : "")]);
  }
  if (graph.edges.some((e) => e.frequency !== null)) columns.push(["bootstrap", (e) => e.frequency]);
  columns.push(data.metrics ? ["known graph", (e) => e.verdict || "absent from both"]
    : ["learned graph", (e) => (e.learned ? "in" : "outside")]);
  const numeric = new Set(["weight", "norm", "probability", "reverse", "bootstrap"]);
  const body = at("edges").tBodies[0];
  for (const edge of graph.edges) {
    edge.row = make("tr", {}, ...columns.map(([name, read]) => {
      const value = read(edge);
      return numeric.has(name) ? make("td", { class: "number" }, show(value))
        : make("td", { class: name === "known graph" ? value : "" }, value);
    }));
    edge.row.addEventListener("pointerenter", () => edge.element.classList.add("lit"));
    edge.row.addEventListener("pointerleave", () => edge.element.classList.remove("lit"));
    body.append(edge.row);
  }
  const heads = columns.map(([name, read]) => {
    const button = make("button", { type: "button" }, name);
    const head = make("th", { scope: "col", "aria-sort": "none", class: numeric.has(name) ? "number" : "" }, button);
    button.addEventListener("click", () => {
      const first = numeric.has(name) ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort");
      const next = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? next : "none"));
      const sign = next === "ascending" ? 1 : -1;
      const compare = (a, b) => {
        const [x, y] = [read(a), read(b)];
        if (x === null || y === null) return (x === null) - (y === null); // no number goes last either way
        return sign * (numeric.has(name) ? x - y : String(x).localeCompare(String(y)));
      };
      body.append(...graph.edges.slice().sort(compare).map((edge) => edge.row));
    });
    return head;
  });
  at("edges").tHead.append(make("tr", {}, ...heads));
  at("edges-hint").textContent = "Those of the graph above. Click a heading to sort. Weight: slope, of a curve " +
    "that of the best line. Norm: size of the effect; larger than the weight where it bends. " +
    (graph.edges.some((e) => e.learned && !e.signed) ? "Levels in no order have no direction: there the weight is the norm. " : "") +
    (judged ? "Probability: posterior probability of the edge; reverse: that of the same edge turned around. Both take the model " +
      "for granted. Direction: open where the less likely way has at least a quarter of the two together. "
      : "There are no probabilities: graphs were not sampled. ") +
    (data.resamples ? `Bootstrap: share of ${data.resamples} resamples with the edge.` : "");
}

// ---- data
function drawData() {
  const box = at("data-summary");
  const summary = data.data;
  if (!summary) {
    box.append(make("p", { class: "hint" }, "Left out: the report was made without the rows. " +
      "Pass the table as X to have its columns summarised and the graph scored on it."));
    return;
  }
  const list = make("dl", { class: "facts" });
  const whose = summary.graph === "known" ? "known graph" : "learned graph";
  define(list, [["rows", String(summary.n_rows)], ["rows without missing values", String(summary.n_complete)],
    ["log-likelihood per row", show(summary.score, 5)],
    [`var-sortability, ${whose}`, show(summary.var_sortability)],
    [`R²-sortability, ${whose}`, show(summary.r2_sortability)]]);
  box.append(list);
  if (summary.refused) box.append(make("p", { class: "note" }, `No log-likelihood: ${summary.refused}`));
  for (const warning of summary.warnings) box.append(make("p", { class: "note" }, warning));
  box.append(make("p", { class: "hint" }, "Sortability: share of directed paths along which the variance (or R² given all " +
    "other columns) grows. At 0.5 it says nothing about the order; towards 0 or 1 sorting alone would find it."));
  const numbers = ["mean", "sd", "min", "max", "skew", "missing"];
  const head = make("tr", {}, ...["column", "kind", "noise", "why"].map((name) => make("th", { scope: "col" }, name)),
    ...numbers.map((name) => make("th", { scope: "col", class: "number" }, name)));
  const rows = summary.columns.map((column, i) => make("tr", {},
    ...[data.names[i], column.kind, column.noise, column.reason].map((word) => make("td", {}, word)),
    ...numbers.map((name) => make("td", { class: "number" }, show(column[name], 4)))));
  box.append(make("div", { class: "scroll tall" }, make("table", { id: "columns" }, make("thead", {}, head), make("tbody", {}, ...rows))));
}
