"use strict";
// Two campaigns cell by cell: ratios with their intervals, computed by the library when the report was made.
(async () => {
  const { load, rows, el, number, table, state, address, select, chart, cellTitle } = glusterlab;
  const [site, pairs] = [await load("site"), await load("pairs")];
  const form = document.getElementById("choice"), place = document.getElementById("chart");
  if (!pairs.length) { place.append(el("p", { class: "note" }, "No two campaigns of this report have a cell in common.")); return; }
  const words = state.read();
  const release = (name) => site.campaigns.find((each) => each.name === name).release;
  const asked = pairs.findIndex((pair) => pair.one === words.get("one") && pair.other === words.get("other"));
  let at = Math.max(0, asked < 0 ? pairs.findIndex((pair) => release(pair.one) !== release(pair.other)) : asked);

  // what was recorded of hosts, tools and configuration, as `glusterlab compare` has it; names and digests differ anyway
  function facts(pair) {
    const [one, other] = [pair.one, pair.other].map((name) => site.campaigns.find((each) => each.name === name));
    const found = rows(pair.differences);
    if (one.first !== other.first) found.push({ where: "campaign", what: "measured from", weight: "minor", [pair.one]: one.first, [pair.other]: other.first });
    if (!found.length) return el("p", {}, "Nothing that was recorded: hosts, tools, releases and configuration are the same.");
    return table([["Where", "where"], ["What", "what"], ["Weight", "weight"], [pair.one, pair.one], [pair.other, pair.other]].map(([name, key]) => ({ name, value: (line) => line[key] })), found, "What else differs");
  }

  async function show() {
    const pair = pairs[at];
    state.write({ one: pair.one, other: pair.other });
    const cells = new Map(rows(await load(`cells/${pair.one}`)).map((cell) => [cell.id, cell]));
    const found = rows(pair).map((row) => ({ ...row, cell: cells.get(row.cell), unit: site.quantities.find((of) => of.key === row.quantity) }))
      .sort((one, other) => one.cell.operation.localeCompare(other.cell.operation) || other.ratio - one.ratio);
    form.replaceChildren(select("Campaigns", pairs.map((each, n) => [String(n), `${each.other} over ${each.one} (${each.rows.length})`]), String(at), (value) => { at = Number(value); show(); }));
    document.getElementById("what").textContent = `${pair.other} over ${pair.one}: ratios of the same cells`;
    const slower = found.filter((row) => row.high !== null && row.high < 1).length, faster = found.filter((row) => row.low !== null && row.low > 1).length;
    document.getElementById("note").textContent = `Of ${found.length} cells slower in ${pair.other}, with the whole bar below 1: ${slower}; faster: ${faster}. ` + "A bar that does not cross 1 differs by more than samples scatter; of twenty cells that are the same one does so by chance. The section on releases, and glusterlab compare, pair rounds and correct for the number of cells: what is told apart here may be undecided there.";
    const slim = place.clientWidth < 600;
    const values = found.map((row, n) => ({ ...row, at: n, label: slim ? cellTitle(row.cell).replace(/^([^,]+), (.*), ([^,]+)$/, "$1\n$2\n$3") : cellTitle(row.cell), cell: undefined, unit: undefined, values: undefined }));
    const y = { field: "label", type: "nominal", title: null, sort: values.map((row) => row.label), axis: { labelLimit: slim ? 140 : 360, labelOffset: slim ? -14 : 0, labelExpr: "split(datum.label, '\\n')" } };
    const ends = found.flatMap((row) => [row.low ?? row.ratio, row.high ?? row.ratio]);
    const domain = [Math.max(0.1, Math.min(0.8, ...ends)), Math.min(10, Math.max(1.25, ...ends))];
    const x = (field) => ({ field, type: "quantitative", title: `${pair.other} / ${pair.one}`, scale: { type: "log", domain, clamp: true, nice: false } });
    const spec = { data: { values }, width: Math.max(place.clientWidth - (slim ? 190 : 420), 120), height: { step: slim ? 46 : 20 }, layer: [
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", stroke: "var(--soft)" }, encoding: { x: { field: "one", type: "quantitative" } } },
      { transform: [{ filter: { field: "low", valid: true } }], mark: { type: "rule", strokeWidth: 2 }, encoding: { y, x: x("low"), x2: { field: "high" } } },
      { mark: { type: "point", filled: true, opacity: 1, cursor: "pointer" }, encoding: { y, x: x("ratio"), color: { value: "var(--link)" }, size: { condition: { test: "datum.at === picked", value: 220 }, value: 70 } } },
    ] };
    const text = (row) => `${number(row.ratio)}${row.low === null ? " (insufficient n)" : ` (${number(row.low)} to ${number(row.high)})`}`;
    const points = found.map((row) => ({ words: `${cellTitle(row.cell)}\n${row.unit.label}: ${text(row)}, n = ${row.n}`, link: address("cell", { campaign: pair.other, cell: row.cell.id }) }));
    document.getElementById("numbers").replaceChildren(el("details", {}, el("summary", {}, `Numbers: ${found.length} rows`), table([
      { name: "Cell", value: (row) => cellTitle(row.cell), link: (row) => address("cell", { campaign: pair.one, cell: row.cell.id }) },
      { name: "Quantity", value: (row) => row.unit.label }, { name: "Ratio", value: (row) => row.ratio, right: true },
      { name: "low", value: (row) => row.low, right: true }, { name: "high", value: (row) => row.high, right: true }, { name: "n", value: (row) => row.n, right: true },
    ], found, "Ratios")), el("h2", {}, "What else differs"), facts(pair));
    await chart.draw(place, spec, { label: document.getElementById("what").textContent, points });
    document.documentElement.dataset.drawn = String(found.length);
  }

  await show();
})();
