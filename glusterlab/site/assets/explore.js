"use strict";
// Any quantity of any campaigns against anything that tells their cells apart. What is shown stands in the address.
(async () => {
  const { load, rows, el, number, bytes, inOrder, table, state, address, select, chart, cellTitle } = glusterlab;
  const site = await load("site");
  const form = document.getElementById("choice"), place = document.getElementById("chart");
  const DIMENSIONS = {
    workers: { label: "Workers", number: true }, nominal_size: { label: "File size", number: true, text: bytes }, series: { label: "Layout" },
    operation: { label: "Operation" }, access: { label: "Access" }, release: { label: "Release" }, campaign: { label: "Campaign" }, study: { label: "Study" }, tool: { label: "Tool" }, binds: { label: "What binds" },
  };
  const PER = { "": "the whole pool", disks: "per disk", servers: "per server", price: "per 1,000 of its price" };
  const COLOURS = ["#1f4e89", "#e07b39", "#2a7f62", "#9d811d", "#6f5a8f", "#b0413e", "#5b5b5b", "#cf82ae"];
  const GROUPS = ["disks", "server", "software", "network", "support"];

  const words = state.read();
  const list = (key) => (words.get(key) || "").split("|").filter(Boolean);
  const among = (key, names, otherwise) => (names.includes(words.get(key)) ? words.get(key) : otherwise), keys = Object.keys(DIMENSIONS);
  const largest = [...site.campaigns].sort((one, other) => other.cells - one.cells)[0];
  if (!largest) { place.append("There is no campaign in this report."); return; }
  const chosen = {
    campaign: list("campaign").filter((name) => site.campaigns.some((each) => each.name === name)),
    q: words.get("q") || "", per: among("per", Object.keys(PER), ""), x: among("x", keys, "workers"), colour: among("colour", keys, "series"), facet: among("facet", ["none", ...keys], "operation"),
    own: words.get("axes") === "own", full: words.get("full") === "yes", whole: words.get("view") === "whole", filters: {}, factors: {},
  };
  if (!chosen.campaign.length) chosen.campaign = [largest.name];
  for (const key of keys) chosen.filters[key] = list(`only-${key}`);
  for (const group of GROUPS) {
    const asked = Number(words.get(`price-${group}`) ?? 1);
    chosen.factors[group] = asked >= 0 && asked <= 2 ? asked : 1;
  }
  const began = words.size <= 1 || words.get("begin") === "yes";

  async function cells() {
    const parts = await Promise.all(chosen.campaign.map(async (name) => {
      const data = await load(`cells/${name}`), study = site.campaigns.find((each) => each.name === name).study;
      return rows(data).map((cell, n) => ({ ...cell, n, campaign: name, study, quantities: data.quantities }));
    }));
    return parts.flat();
  }

  const known = new Map();  // rows of a campaign's quantity by the number of their cell
  function estimate(cell, quantity) {
    const key = `${cell.campaign} ${quantity}`;
    if (!known.has(key)) {
      const found = cell.quantities[quantity];
      known.set(key, new Map(found ? rows(found).map((row) => [row.cell, row]) : []));
    }
    return known.get(key).get(cell.n);
  }

  // a price is that of hardware as it is bought, so what it is held against is at full size, too
  const fullSize = () => chosen.full || chosen.per === "price";

  // only multiplies and divides by what is exact: scale, disks, servers, a price
  function factor(cell, quantity) {
    const by = quantity.factor * (fullSize() && quantity.rate ? cell.scale : 1);
    if (!quantity.rate || !chosen.per) return by;
    const costs = site.prices && site.prices.servers[cell.priced];
    const server = costs ? GROUPS.reduce((sum, group) => sum + (costs[group] || 0) * chosen.factors[group], 0) : 0;
    const divisor = { disks: cell.disks, servers: cell.servers, price: (server * cell.servers) / 1000 }[chosen.per];
    return divisor ? by / divisor : null;
  }

  function unit(quantity) {
    const per = !quantity.rate ? "" : { "": "", disks: " per disk", servers: " per server", price: ` per 1,000 ${site.prices ? site.prices.currency : ""}` }[chosen.per];
    return `${quantity.unit}${per}`;
  }

  const text = (key, value) => (value === "" || value === null ? `no ${DIMENSIONS[key].label.toLowerCase()}` : DIMENSIONS[key].text ? DIMENSIONS[key].text(value) : String(value));

  function records(all, quantity) {
    const found = [];
    for (const cell of all) {
      const of = estimate(cell, quantity.key), by = factor(cell, quantity);
      if (!of || by === null) continue;
      if (Object.entries(chosen.filters).some(([key, only]) => only.length && !only.includes(String(cell[key])))) continue;
      const whole = chosen.whole && of.whole_mean !== null;
      const [mean, low, high] = whole ? [of.whole_mean, of.whole_low, of.whole_high] : [of.mean, of.low, of.high];
      const scaled = (value) => (value === null ? null : value * by);
      const groups = of.groups === 2 && !whole ? [of.group_low, of.group_high].map(scaled) : null;
      found.push({ cell, of, groups, value: scaled(mean), low: scaled(low), high: scaled(high), samples: of.values.map(scaled), whole });
    }
    return found;
  }

  function wordsOf(record, quantity) {
    const interval = record.low === null ? "no interval" : `${number(record.low)} to ${number(record.high)}`;
    const value = record.groups ? `two groups, ${record.groups.map(number).join(" and ")}` : `${number(record.value)} (${interval})`;
    return `${cellTitle(record.cell)}\n${value} ${unit(quantity)}, n = ${record.of.n}\n${record.cell.campaign}, GlusterFS ${record.cell.release}, ${record.cell.access}${record.cell.binds ? `\nbinds: ${record.cell.binds} (${record.cell.agree} of ${record.of.n} samples)` : ""}\nsamples: ${record.samples.map(number).join(", ")}`;
  }

  // cells that differ in more than the place along the axis: each has a line of its own, and a lane beside the others
  const lane = (cell) => Object.keys(DIMENSIONS).filter((key) => ![chosen.x, chosen.facet, "binds"].includes(key)).map((key) => cell[key]).join("|");

  // where a mark stands: lanes share the middle of the least gap between two places
  function places(found, lanes, log) {
    const onto = log ? Math.log : Number, from = log ? Math.exp : Number;
    const known = [...new Set(found.map((record) => onto(record.cell[chosen.x])))].sort((a, b) => a - b);
    const gap = Math.min(...known.slice(1).map((each, n) => each - known[n]), log ? Math.LN2 : 4);
    return (record) => from(onto(record.cell[chosen.x]) + ((lanes.indexOf(lane(record.cell)) + .5) / lanes.length - .5) * .6 * gap);
  }

  const spans = (values) => values.length > 1 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 20;

  function mixes(found, key) {  // whether marks at one place of one panel, in one colour, have several of these
    const seen = new Map(), at = (cell) => [chosen.x, chosen.facet, chosen.colour].map((each) => cell[each]).join("|");
    for (const { cell } of found) if (!seen.has(at(cell))) seen.set(at(cell), cell[key]);
    return found.some(({ cell }) => seen.get(at(cell)) !== cell[key]);
  }

  function shapeOf(looks, n) {  // the figures' shape; another where a layout is there twice, as at two scales
    const own = chart.SHAPES[looks[n]?.marker], all = [...new Set([own, "circle", "square", "diamond", "triangle-up"])].filter(Boolean);
    const before = own ? looks.slice(0, n).filter((look) => look?.marker === looks[n].marker && look.colour === looks[n].colour).length : n;
    return all[before % all.length];
  }

  function spec(found, quantity) {
    const ranking = !DIMENSIONS[chosen.x].number, slim = place.clientWidth < 600;
    const value = { field: "value", type: "quantitative", title: `${quantity.label}, ${unit(quantity)}`, scale: { zero: true, nice: true } };
    const ordered = [...found].sort((one, other) => (other.value ?? other.groups?.[1]) - (one.value ?? one.groups?.[1]));
    const name = (record) => text(chosen.colour, record.cell[chosen.colour]);
    const names = [...new Set(found.map(name))].sort(inOrder);
    const lanes = [...new Set([...found].sort((one, other) => inOrder(name(one), name(other)) || inOrder(lane(one.cell), lane(other.cell))).map((record) => lane(record.cell)))];
    const log = !ranking && spans(found.map((record) => record.cell[chosen.x])), where = ranking ? null : places(found, lanes, log);
    const looks = names.map((name) => (chosen.colour === "series" ? site.looks[name] : null));
    const title = DIMENSIONS[chosen.colour].number && !DIMENSIONS[chosen.colour].text ? DIMENSIONS[chosen.colour].label : null;  // numbers alone say nothing
    const colour = { field: "colour", type: "nominal", title, legend: { symbolOpacity: 1, symbolStrokeWidth: 0 }, scale: { domain: names, range: names.map((_, n) => chart.tone(looks[n]?.colour || COLOURS[n % COLOURS.length])) } };
    const shape = { field: "colour", type: "nominal", title, scale: { domain: names, range: names.map((_, n) => shapeOf(looks, n)) } };
    const lines = slim ? Math.max(...found.map((record) => text(chosen.x, record.cell[chosen.x]).split(", ").length)) : 1;
    const at = ranking
      ? { field: "x", type: "nominal", title: null, sort: [...new Set(ordered.map((record) => text(chosen.x, record.cell[chosen.x])))], axis: { tickBand: "extent", grid: lanes.length > 1, ...(slim ? { labelLimit: 118, labelOffset: -6.5 * (lines - 1), labelExpr: "split(datum.label, ', ')" } : { labelLimit: 200 }) } }
      : { field: "x", type: "quantitative", title: DIMENSIONS[chosen.x].label, scale: { type: log ? "log" : "linear", nice: false, padding: 16 }, axis: { values: [...new Set(found.map((record) => record.cell[chosen.x]))], ...(chosen.x === "nominal_size" ? { labelExpr: sizeLabels(found) } : { format: "d" }) } };
    const [across, along] = ranking ? ["y", "x"] : ["x", "y"];
    const values = found.flatMap((record, n) => {
      const same = { at: n, x: ranking ? text(chosen.x, record.cell[chosen.x]) : where(record), lane: lanes.indexOf(lane(record.cell)), colour: name(record), facet: chosen.facet ? text(chosen.facet, record.cell[chosen.facet]) : "" };
      const means = record.groups ? record.groups.map((each) => ({ ...same, kind: "group", value: each })) : [{ ...same, kind: "mean", value: record.value, low: record.low, high: record.high }];
      return [...means, ...(record.of.n < 6 && !record.whole ? record.samples.map((each) => ({ ...same, kind: "sample", value: each })) : [])];
    });
    const only = (...kinds) => [{ filter: { field: "kind", oneOf: kinds } }];
    const spot = { [across]: at, ...(ranking && lanes.length > 1 ? { yOffset: { field: "lane", type: "ordinal", scale: { domain: [...lanes.keys()] } } } : {}) };
    const layers = [
      { transform: [...only("mean"), { filter: { field: "low", valid: true } }], mark: { type: "rule", strokeWidth: 1.6, opacity: .75 }, encoding: { ...spot, [along]: { ...value, field: "low" }, [`${along}2`]: { field: "high" }, color: colour } },
      { transform: only("sample"), mark: { type: "point", filled: true, size: 14, opacity: .55 }, encoding: { ...spot, [along]: value, color: colour } },
      { transform: only("mean", "group"), mark: { type: "point", filled: true, opacity: 1, stroke: "var(--card)", strokeWidth: .6, cursor: "pointer" }, encoding: { ...spot, [along]: value, color: colour, shape, size: { condition: { test: "datum.at === picked", value: 260 }, value: 80 } } },
    ];
    if (!ranking) layers.unshift({ transform: only("mean"), mark: { type: "line", strokeWidth: 1.2, opacity: .6 }, encoding: { ...spot, [along]: value, color: colour, detail: { field: "lane" } } });
    const facets = chosen.facet ? new Set(values.map((each) => each.facet)).size : 1;
    const room = Math.max(place.clientWidth - 30, 260), columns = room / facets < 300 ? 1 : Math.min(facets, 3);
    const axis = (ranking ? (slim ? 150 : 220) : 56) * (chosen.own && !ranking ? columns : 1);
    const inner = { width: Math.max(Math.floor((room - axis) / columns) - (columns > 1 ? 20 : 0), 150), height: ranking ? { step: Math.max(slim ? 10 + 13 * lines : 26, 7 * lanes.length), for: "position" } : 300, layer: layers };
    const facet = { facet: { field: "facet", type: "nominal", title: null, sort: ["write", "create", "read"] }, columns, spec: inner, resolve: { scale: { [along]: chosen.own ? "independent" : "shared" } } };
    return { data: { values }, ...(chosen.facet ? facet : inner) };
  }

  function sizeLabels(found) {
    const sizes = [...new Set(found.map((record) => record.cell.nominal_size))];
    return sizes.map((size) => `datum.value === ${size} ? '${bytes(size)}' : `).join("") + "''";
  }

  function remember() {
    const entries = { campaign: chosen.campaign, q: chosen.q, per: chosen.per, x: chosen.x, colour: chosen.colour, facet: chosen.facet || "none", axes: chosen.facet && chosen.own ? "own" : "", full: chosen.full ? "yes" : "", view: chosen.whole ? "whole" : "" };
    for (const [key, only] of Object.entries(chosen.filters)) entries[`only-${key}`] = only;
    for (const group of GROUPS) if (chosen.factors[group] !== 1) entries[`price-${group}`] = chosen.factors[group];
    state.write(entries);
  }

  function checks(label, key, values, marked, onchange) {
    const box = el("details", { open: marked.length > 0 && marked.length < values.length }, el("summary", {}, `${label}${marked.length ? `: ${marked.length} of ${values.length}` : ": all"}`));
    for (const value of values) {
      const input = el("input", { type: "checkbox", checked: marked.includes(String(value)), onchange: (event) => onchange(event.target.checked ? [...marked, String(value)] : marked.filter((each) => each !== String(value))) });
      box.append(el("label", { class: "check" }, input, text(key, value)));
    }
    return box;
  }

  function prices() {
    const box = el("fieldset", {}, el("legend", {}, "Prices, times"));
    for (const group of GROUPS) {
      const out = el("output", {}, `× ${chosen.factors[group].toFixed(1)}`);
      const input = el("input", { type: "range", min: 0, max: 2, step: 0.1, value: chosen.factors[group], oninput: (event) => { chosen.factors[group] = Number(event.target.value); out.textContent = `× ${chosen.factors[group].toFixed(1)}`; show(false); } });
      box.append(el("label", {}, el("span", {}, `${group} `, out), input));
    }
    box.append(el("p", { class: "soft" }, site.prices.notice));
    return box;
  }

  function choices(all, offered) {
    const set = (key) => (value) => { chosen[key] = value; show(); };
    const dimensions = Object.entries(DIMENSIONS).map(([key, of]) => [key, of.label]);
    form.replaceChildren(
      checks("Campaigns", "campaign", site.campaigns.map((each) => each.name), chosen.campaign, (names) => { chosen.campaign = names.length ? names : chosen.campaign; show(); }),
      select("Quantity", offered.map((of) => [of.key, of.label]), chosen.q, set("q")),
      select("Of", Object.entries(PER).filter(([key]) => key !== "price" || site.prices), chosen.per, set("per")),
      el("label", { class: "check" }, el("input", { type: "checkbox", checked: fullSize(), disabled: chosen.per === "price", onchange: (event) => set("full")(event.target.checked) }), "at full size: times the scale"),
      el("label", { class: "check" }, el("input", { type: "checkbox", checked: chosen.whole, onchange: (event) => set("whole")(event.target.checked) }), "rates over the whole time"),
      ...(chosen.per === "price" ? [prices()] : []),
      select("Along", dimensions, chosen.x, set("x")),
      select("Colour", dimensions, chosen.colour, set("colour")),
      select("Panels", [["", "one"], ...dimensions], chosen.facet, set("facet")),
      ...(chosen.facet ? [el("label", { class: "check" }, el("input", { type: "checkbox", checked: chosen.own, onchange: (event) => set("own")(event.target.checked) }), "each panel has its own axis")] : []),
      ...Object.entries(DIMENSIONS).filter(([key]) => key !== "campaign").map(([key, of]) => {
        const values = [...new Set(all.map((cell) => cell[key]))].sort((a, b) => (of.number ? a - b : inOrder(String(a), String(b))));
        return values.length > 1 ? checks(of.label, key, values, chosen.filters[key], (only) => { chosen.filters[key] = only; show(); }) : null;
      }).filter(Boolean),
      el("button", { type: "button", onclick: () => { location.hash = ""; location.reload(); } }, "Begin anew"),
    );
  }

  function saved(columns, found) {
    const quote = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
    const safe = (value) => (typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : value);
    const lines = [columns.map((each) => each.name), ...found.map((record) => columns.map((each) => safe(each.value(record))))];
    return URL.createObjectURL(new Blob([lines.map((line) => line.map(quote).join(",")).join("\n")], { type: "text/csv" }));
  }

  // what a chart's title has to say of which cells it shows
  const limits = () => [["campaign", chosen.campaign], ...Object.entries(chosen.filters)].filter(([, only]) => only.length)
    .map(([key, only]) => (only.length > 3 ? `${only.length} ${key === "campaign" ? "campaigns" : `of ${DIMENSIONS[key].label.toLowerCase()}`}` : `${only.map((each) => text(key, each)).join(", ")}${key === "workers" ? " workers" : ""}`));

  async function show(anew = true) {
    const all = await cells();
    const offered = site.quantities.filter((of) => all.some((cell) => estimate(cell, of.key)));
    if (!offered.some((of) => of.key === chosen.q)) chosen.q = (offered.find((of) => of.rate) || offered[0])?.key;
    const quantity = offered.find((of) => of.key === chosen.q);
    if (!quantity) { place.replaceChildren("These campaigns have no valid sample."); return; }
    if (began && anew && !chosen.begun && !chosen.filters.nominal_size.length) {
      // one size of files to begin with, that with the most worker counts: sizes on one line would be read as a course
      const counts = new Map();
      for (const cell of all) if (estimate(cell, chosen.q)) counts.set(cell.nominal_size, (counts.get(cell.nominal_size) || new Set()).add(cell.workers));
      chosen.filters.nominal_size = [String([...counts].sort((one, other) => other[1].size - one[1].size)[0][0])];
    }
    chosen.begun = true;
    for (const key of keys) chosen.filters[key] = chosen.filters[key].filter((only) => all.some((cell) => String(cell[key]) === only));
    const focused = document.activeElement && form.contains(document.activeElement) ? [...form.querySelectorAll("input, select, summary")].indexOf(document.activeElement) : -1;
    if (anew) choices(all, offered);
    if (anew && focused >= 0) form.querySelectorAll("input, select, summary")[focused]?.focus();
    remember();
    const found = records(all, quantity);
    document.getElementById("what").textContent = `${quantity.label} by ${DIMENSIONS[chosen.x].label.toLowerCase()}, ${unit(quantity)}: ${limits().join("; ")}`;
    const left = all.filter((cell) => estimate(cell, chosen.q)).length - found.length;
    const mixed = keys.filter((key) => ![chosen.x, chosen.facet, chosen.colour, "binds"].includes(key) && mixes(found, key)).map((key) => DIMENSIONS[key].label.toLowerCase());
    document.getElementById("note").textContent = `${chosen.facet && chosen.own ? "Each panel has its own axis. " : ""}${found.length} cells${left ? `, ${left} others are filtered out or have no such number` : ""}. Bars: 95 % intervals; small dots: samples, where there are fewer than six.`
      + (fullSize() ? " Times the scale: what the model stands for, not what was measured." : "") + (found.some((record) => record.cell.scale !== 1) && !fullSize() ? " Measured on a scale model." : "") + (mixed.length ? ` Marks of one colour differ by ${mixed.join(", ")} as well.` : "");
    const columns = [
      { name: "Campaign", value: (of) => of.cell.campaign }, { name: "Operation", value: (of) => of.cell.operation },
      { name: "File size", value: (of) => of.cell.nominal_size, text: (of) => bytes(of.cell.nominal_size) },
      { name: "Layout", value: (of) => of.cell.series, link: (of) => address("cell", { campaign: of.cell.campaign, cell: of.cell.id }) },
      { name: "Access", value: (of) => of.cell.access }, { name: "Release", value: (of) => of.cell.release },
      { name: "Workers", value: (of) => of.cell.workers, right: true }, { name: "n", value: (of) => of.of.n, right: true },
      { name: unit(quantity), value: (of) => of.value, right: true, text: (of) => (of.groups ? `two groups: ${of.groups.map(number).join(", ")}` : number(of.value)) },
      { name: "low", value: (of) => of.low, right: true }, { name: "high", value: (of) => of.high, right: true },
      { name: "What binds", value: (of) => of.cell.binds },
    ];
    document.getElementById("numbers").replaceChildren(el("details", {}, el("summary", {}, `Numbers: ${found.length} rows`), table(columns, found, "The numbers of the chart")),
      el("p", {}, el("a", { href: saved(columns, found), download: "glusterlab.csv" }, "These numbers as CSV")));
    if (!found.length) { place.replaceChildren(el("p", { class: "note" }, "No cell is left. Take a filter away.")); return; }
    const points = found.map((record) => ({ words: wordsOf(record, quantity), link: address("cell", { campaign: record.cell.campaign, cell: record.cell.id }) }));
    await chart.draw(place, spec(found, quantity), { label: document.getElementById("what").textContent, points });
    document.documentElement.dataset.drawn = String(found.length);
  }

  if (chosen.facet === "none") chosen.facet = "";
  addEventListener("resize", () => { clearTimeout(chosen.later); chosen.later = setTimeout(() => show(false), 200); });
  addEventListener("hashchange", () => location.reload());
  await show();
})();
