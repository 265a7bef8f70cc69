// How many values are missing, and what does it depend on?
function drawGaps() {
  const gaps = data.gaps;
  at("gaps-section").hidden = !gaps;
  if (!gaps) return;
  define(at("gaps-facts"), gaps.facts);
  for (const note of gaps.notes) at("gaps-notes").append(make("p", { class: "note" }, note));
}
