// Puts all of the page together.
define(at("facts"), data.facts);
drawTable();
const nodes = drawGraph();
at("others-label").hidden = !graph.edges.some((edge) => !edge.learned && edge.probability > 0);
at("missing-label").hidden = !graph.edges.some((edge) => edge.verdict === "missing");
slider.value = graph.threshold;
slider.addEventListener("input", update);
for (const id of ["others", "missing"]) at(id).addEventListener("change", update);
at("reset").addEventListener("click", () => {
  slider.value = graph.threshold;
  at("others").checked = at("missing").checked = true;
  moved.clear();
  centres = graph.centres.map((point) => point.slice());
  nodes.forEach(({ element }, node) => putNode(element, node));
  graph.edges.forEach(place);
  update();
});
update();
if (data.metrics) define(at("metrics"), data.metrics.map(([name, value]) => [name, show(value)]));
else at("metrics-section").hidden = true;
drawEffects();
drawOrder();
drawTraining();
drawData();
drawGaps();
define(at("settings"), data.settings);
for (const entry of data.cite) at("cite").append(make("pre", {}, entry));
at("footer").textContent = `Made with daguerreotype ${data.version}. This page makes no request to any network.`;
