"use strict";
// A Vega-Lite chart whose points can be looked at by pointer and by keyboard. Expressions are interpreted: no eval.
glusterlab.chart = (() => {
  const { el } = glusterlab;
  // colours are names of the style sheet's, so that a chart is right as soon as the screen turns dark or the page is printed
  const CONFIG = {
    background: "transparent", font: "system-ui, sans-serif", view: { stroke: "var(--line)" },
    axis: { labelColor: "var(--soft)", titleColor: "var(--ink)", gridColor: "var(--grid)", domainColor: "var(--soft)", tickColor: "var(--soft)", labelSeparation: 8, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
    legend: { labelColor: "var(--ink)", titleColor: "var(--ink)", labelFontSize: 12, titleFontSize: 12, orient: "bottom" },
    header: { labelColor: "var(--ink)", labelFontSize: 13, labelFontWeight: 600, title: null }, title: { color: "var(--ink)" }, rule: { color: "var(--ink)" },
  };
  const SHAPES = { s: "square", o: "circle", D: "diamond", d: "diamond", h: "circle", "^": "triangle-up", v: "triangle-down", p: "circle", P: "cross" };
  // a colour of the figures, lighter on dark paper
  const tone = (colour) => `color-mix(in srgb, ${colour} var(--own), white)`;
  // where there is no room beside the chart, what is chosen stands folded above it, in the order of the tab key
  const choices = document.getElementById("choices"), narrow = matchMedia("(max-width: 900px)");
  const fold = () => { if (choices) choices.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();

  const card = el("div", { class: "card", role: "presentation", hidden: true });
  document.body.append(card);

  // points: what can be looked at, in the order of the arrow keys, with `at` (number), `words` and perhaps `link`
  async function draw(place, spec, { label, points = [] }) {
    if (place.view) place.view.finalize();
    const inner = el("div"), readout = el("p", { class: "soft", role: "status" });
    const box = el("div", { class: "chart", tabindex: "0", role: "group", "aria-label": `${label}. Arrow keys: from point to point. Enter: opens its cell. The numbers are in the table below.` }, inner);
    place.replaceChildren(box, readout);
    const columns = Math.min(Math.max(Math.floor(place.clientWidth / 300), 1), 3);
    const compiled = vegaLite.compile({ ...spec, config: { ...CONFIG, legend: { ...CONFIG.legend, columns, labelLimit: (place.clientWidth - 110) / columns - 20 } }, params: [...(spec.params || []), { name: "picked", value: -1 }] }).spec;
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), { expr: vega.expressionInterpreter, renderer: "svg", container: inner, hover: true });
    place.view = view;
    const drawn = inner;
    let picked = -1;
    const point = (item) => (item && item.datum && item.datum.at !== undefined ? points[item.datum.at] : null);
    view.addEventListener("pointermove", (event, item) => {
      const found = point(item);
      card.hidden = !found;
      if (!found) return;
      card.textContent = found.words;
      card.style.left = `${Math.min(event.clientX + 14, innerWidth - card.offsetWidth - 8)}px`;
      card.style.top = `${Math.min(event.clientY + 14, innerHeight - card.offsetHeight - 8)}px`;
    });
    box.addEventListener("pointerleave", () => { card.hidden = true; });
    view.addEventListener("click", (_, item) => { const found = point(item); if (found && found.link) location.href = found.link; });
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" && picked >= 0 && points[picked].link) location.href = points[picked].link;
      if (!step || !points.length) return;
      event.preventDefault();
      picked = (picked + step + points.length) % points.length;
      readout.textContent = points[picked].words.replaceAll("\n", ", ");
      view.signal("picked", picked).runAsync();
    });
    await view.runAsync();
    drawn.querySelectorAll("svg").forEach((each) => each.setAttribute("aria-hidden", "true"));
    return view;
  }
  return { draw, tone, SHAPES };
})();
