"use strict";
// Campaigns against one of them, cell by cell: ratios, intervals and verdicts of the library, as `glusterlab compare` prints them.
(async () => {
  const { load, rows, el, number, table, state, address, select, chart } = glusterlab;
  const [site, { band, marks, pairs }] = [await load("site"), await load("pairs")];
  const form = document.getElementById("choice"), place = document.getElementById("chart");
  if (!pairs.length) { place.append(el("p", { class: "note" }, "No two campaigns of this report have a cell in common.")); return; }
  const words = state.read(), known = (name) => pairs.some((pair) => pair.one === name);
  let one = known(words.get("one")) ? words.get("one") : (pairs.find((pair) => pair.another_release) || pairs[0]).one;
  let others = (words.get("other") || "").split("|");

  const offered = () => pairs.filter((pair) => pair.one === one);
  const first = (name) => site.campaigns.find((each) => each.name === name).first;

  function choices() {
    const box = el("fieldset", {}, el("legend", {}, "Held against it"), ...offered().map(({ other, rows: cells }) => el("label", { class: "check" }, el("input", {
      type: "checkbox", checked: others.includes(other), onchange: (event) => { others = event.target.checked ? [...others, other] : others.filter((each) => each !== other); show(); },
    }), `${other} (${cells.length})`)));
    const names = [...new Set(pairs.map((pair) => pair.one))].map((name) => [name, name]);
    form.replaceChildren(select("Reference", names, one, (value) => { one = value; show(); }), box);
  }

  // what was recorded of hosts, tools and configuration; names and digests differ anyway
  function facts(pair) {
    const found = rows(pair.differences), head = pair.other;
    if (first(one) !== first(head)) found.push({ where: "campaign", what: "measured from", weight: "minor", [one]: first(one), [head]: first(head) });
    const said = el("ul", {}, ...pair.warnings.map((text) => el("li", {}, `Warning: ${text}`)), ...pair.says.slice(2).map((text) => el("li", {}, text)));
    const none = el("p", {}, "Nothing that was recorded: hosts, tools, releases and configuration are the same.");
    const columns = [["Where", "where"], ["What", "what"], ["Kind", "weight"], [one, one], [head, head]].map(([name, key]) => ({ name, value: (line) => line[key] }));
    return [el("h2", {}, `${head} against ${one}: how it was compared, what else differs`), said, found.length ? table(columns, found, `What else differs, ${head}`) : none];
  }

  const interval = (row) => (row.low === null ? row.interval : `${number(row.low)} to ${number(row.high)}`);
  const count = (row) => [...new Set([row.n_reference, row.n_other])].join(", ");

  // one panel for each campaign, with the rows in the order in which the library has them
  function spec(shown, values) {
    const slim = place.clientWidth < 600, ends = [...values.flatMap((row) => [row.low ?? row.ratio ?? 1, row.high ?? row.ratio ?? 1]), ...band];
    const scale = { type: "log", domain: [Math.max(0.1, Math.min(...ends) / 1.02), Math.min(10, Math.max(...ends) * 1.02)], clamp: true, nice: false };
    const found = Object.keys(marks).filter((verdict) => values.some((row) => row.verdict === verdict));
    const of = (pick) => ({ field: "verdict", type: "nominal", title: null, legend: { labelExpr: "split(datum.label, ' within')[0]" }, scale: { domain: found, range: found.map(pick) } });
    const [color, shape] = [of((verdict) => chart.tone(marks[verdict][0])), of((verdict) => chart.SHAPES[marks[verdict][1]])];
    const panel = (pair) => {
      const own = values.filter((row) => row.other === pair.other).map((row) => ({ ...row, label: slim ? row.title.replace(/^([^,]+), (.*), ([^,]+)$/, "$1\n$2\n$3") : row.title }));
      const y = { field: "label", type: "nominal", title: null, sort: own.map((row) => row.label), axis: { labelLimit: slim ? 140 : 360, labelOffset: slim ? -14 : 0, labelExpr: "split(datum.label, '\\n')" } };
      const x = (field) => ({ field, type: "quantitative", title: `${pair.other} / ${one}`, axis: { labelExpr: "format(datum.value, '.3~r')" }, scale });
      return { data: { values: own }, width: Math.max(place.clientWidth - (slim ? 190 : 420), 120), height: { step: slim ? 46 : 20 }, layer: [
        { data: { values: [{ low: band[0], high: band[1], one: 1 }] }, layer: [{ mark: { type: "rect", color: "var(--mark)" }, encoding: { x: x("low"), x2: { field: "high" } } }, { mark: { type: "rule", stroke: "var(--soft)" }, encoding: { x: x("one") } }] },
        { transform: [{ filter: { field: "low", valid: true } }], mark: { type: "rule", strokeWidth: 2 }, encoding: { y, x: x("low"), x2: { field: "high" }, color } },
        { transform: [{ filter: { field: "ratio", valid: true } }], mark: { type: "point", filled: true, opacity: 1, cursor: "pointer" }, encoding: { y, x: x("ratio"), color, shape, size: { condition: { test: "datum.at === picked", value: 220 }, value: 70 } } },
        { transform: [{ filter: { not: { field: "ratio", valid: true } } }], mark: { type: "text", color: "var(--ink)" }, encoding: { y, x: { datum: 1, type: "quantitative", scale }, text: { field: "interval" } } },
      ] };
    };
    return { vconcat: shown.map(panel), resolve: { scale: { color: "shared", shape: "shared" } } };
  }

  async function show() {
    others = offered().map((pair) => pair.other).filter((name) => others.includes(name));
    if (!others.length) others = [(offered().find((pair) => pair.another_release) || offered()[0]).other];
    state.write({ one, other: others });
    choices();
    const shown = offered().filter((pair) => others.includes(pair.other));
    const found = shown.flatMap((pair) => rows(pair).map((row) => ({ ...row, other: pair.other }))).map((row, at) => ({ ...row, at }));
    document.getElementById("what").textContent = `${others.join(", ")} against ${one}: ratios of the same cells`;
    document.getElementById("note").textContent = `${shown.map((pair) => `${pair.says[0]}; ${pair.says[1]}.`).join(" ")} Bars: 95 % intervals of the ratio; shaded: the margin. A verdict is the test's, after the correction: a bar that leaves 1 out decides nothing alone.`;
    const points = found.map((row) => ({ words: `${row.title}\n${number(row.ratio)} (${interval(row)}), n = ${count(row)}\n${row.verdict}, corrected p ${number(row.p_corrected) || "none"}`, link: address("cell", { campaign: row.other, cell: row.cell_id }) }));
    document.getElementById("numbers").replaceChildren(el("details", {}, el("summary", {}, `Numbers: ${found.length} rows`), table([
      { name: "Campaign", value: (row) => row.other }, { name: "Cell", value: (row) => row.title, link: (row) => address("cell", { campaign: one, cell: row.cell_id }) },
      { name: "Quantity", value: (row) => site.quantities.find((of) => of.key === row.quantity).label }, { name: "Ratio", value: (row) => row.ratio, right: true },
      { name: "low", value: (row) => row.low, right: true }, { name: "high", value: (row) => row.high, right: true }, { name: "corrected p", value: (row) => row.p_corrected, right: true },
      { name: "Verdict", value: (row) => row.verdict }, { name: "n", value: count, right: true, text: count }, { name: "Rounds", value: (row) => row.rounds, right: true },
    ], found, "Ratios")), ...shown.flatMap(facts));
    await chart.draw(place, spec(shown, found), { label: document.getElementById("what").textContent, points });
    document.documentElement.dataset.drawn = String(found.length);
  }

  await show();
})();
