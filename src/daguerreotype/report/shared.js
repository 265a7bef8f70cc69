// What does every part of the page use? Data, elements and a box of text at the pointer.
// Every name reaches the page as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const graph = data.graph;
const at = (id) => document.getElementById(id);
const show = (value, digits = 3) => (value === null || value === undefined ? "–" : String(+value.toPrecision(digits)));

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function define(list, pairs) {
  for (const [name, value] of pairs) {
    const wide = String(value).length > 60; // has a row of its own
    list.append(make("div", wide ? { class: "wide" } : {}, make("dt", {}, name), make("dd", {}, value)));
  }
}

// ---- a box that follows the pointer
const tip = at("tip");
function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
}
const hideTip = () => { tip.hidden = true; };
addEventListener("scroll", hideTip, true);
