"use strict";
// One cell: its samples, what each host and disk did in them, and the raw files.
(async () => {
  const { load, rows, el, number, table, state, address, select, chart, cellTitle, ROOT } = glusterlab;
  const LEVELS = 250, NOTHING = 255;  // as glusterlab.analysis.saturation.drilldown packs values
  const at = (id) => document.getElementById(id);
  const site = await load("site"), words = state.read();
  const campaign = words.get("campaign"), id = words.get("cell");
  const missing = (text) => {
    document.querySelectorAll("main > :not(#title, #facts)").forEach((each) => each.remove());
    at("title").textContent = text;
    at("facts").append(el("a", { href: `${ROOT}explore.html` }, "Explore"), " leads to every cell that there is.");
  };
  const held = site.campaigns.find((each) => each.name === campaign);
  if (!held) { missing("No such campaign in this report"); return; }
  const cell = rows(await load(`cells/${campaign}`)).find((each) => each.id === id);
  if (!cell) { missing("No such cell in this campaign"); return; }
  const all = await load(`cells/${campaign}`), number_ = all.rows.findIndex((row) => row[0] === id);
  const data = await load(`cell/${campaign}/${id}`);
  const quantities = site.quantities.filter((of) => data.samples.some((sample) => sample.values[of.key] !== undefined));
  const first = quantities.find((of) => of.rate) || quantities[0];

  document.title = `${cellTitle(cell)} · glusterlab`;
  at("title").textContent = cellTitle(cell);
  at("back").append(el("a", { href: address("explore", { campaign, "only-nominal_size": cell.nominal_size, q: first ? first.key : "" }) }, `Explore ${campaign}`));
  at("facts").textContent = `${id} · campaign ${campaign} · GlusterFS ${cell.release} · ${cell.access} · ${cell.tool} · ${cell.disks} disks, ${cell.servers} servers`
    + (cell.scale === 1 ? "" : ` · scale 1:${number(cell.scale)}${cell.heads ? ", disks with heads" : ""}`);

  function colours(field, values, of) {
    const names = Object.keys(of).filter((name) => values.some((each) => each[field] === name));
    return { field, type: "nominal", title: null, legend: names.length > 1 ? {} : null, scale: { domain: names, range: names.map((name) => chart.tone(of[name])) } };
  }

  function samples() {
    const shown = data.samples.filter((sample) => first && sample.values[first.key] !== undefined);
    if (shown.length) {
      const estimate = all.quantities[first.key] && rows(all.quantities[first.key]).find((row) => row.cell === number_);
      const values = shown.map((sample, n) => ({ at: n, sample: sample.sample, value: sample.values[first.key] * first.factor, status: sample.status }));
      const x = { field: "value", type: "quantitative", title: `${first.label}, ${first.unit}`, scale: { zero: false, nice: true } };
      const layer = [{ mark: { type: "point", filled: true, size: 90, opacity: .8 }, encoding: { x, y: { field: "sample", type: "ordinal", title: "sample" }, color: colours("status", values, { valid: "#1f4e89", invalid: "#b08a1a", failed: "#a3301f" }), size: { condition: { test: "datum.at === picked", value: 260 }, value: 90 } } }];
      if (estimate && estimate.low !== null) layer.unshift({ data: { values: [{ low: estimate.low * first.factor, high: estimate.high * first.factor }] }, mark: { type: "rect", color: "var(--mark)" }, encoding: { x: { field: "low", type: "quantitative" }, x2: { field: "high" } } });
      chart.draw(at("chart"), { data: { values }, width: Math.max(at("chart").clientWidth - 80, 200), height: { step: 22 }, layer }, { label: `${first.label} of each sample`, points: shown.map((sample) => ({ words: `sample ${sample.sample}: ${number(sample.values[first.key] * first.factor)} ${first.unit}, ${sample.status}, round ${sample.round}` })) });
      if (estimate) at("chart").append(el("p", { class: "soft" }, estimate.mean === null ? `Two groups: ${number(estimate.group_low * first.factor)} and ${number(estimate.group_high * first.factor)} ${first.unit}.` : `Mean ${number(estimate.mean * first.factor)} ${first.unit}${estimate.low === null ? ", no interval" : `, shaded its 95 % interval ${number(estimate.low * first.factor)} to ${number(estimate.high * first.factor)}`}, n = ${estimate.n}.`));
    }
    at("samples").append(table([
      { name: "Sample", value: (of) => of.sample, right: true }, { name: "Status", value: (of) => of.status },
      ...quantities.map((of) => ({ name: `${of.label}, ${of.unit}`, right: true, value: (sample) => (sample.values[of.key] === undefined ? null : sample.values[of.key] * of.factor) })),
      { name: "Round", value: (of) => of.round, right: true }, { name: "Machine", value: (of) => of.machine, right: true }, { name: "Begun (UTC)", value: (of) => of.begin },
      { name: "What binds it", value: (of) => (data.series.samples.find((each) => each.number === of.sample) || {}).verdict || "" },
      ...(data.samples.some((of) => of.reasons.length) ? [{ name: "Why not valid", value: (of) => of.reasons.map((reason) => `${reason.code}: ${reason.message}`).join("; ") }] : []),
    ], data.samples, "Samples"));
  }

  // what is packed: a byte per resource and step, layer after layer, in the zlib format
  async function unpacked(sample) {
    const packed = Uint8Array.from(atob(sample.data), (sign) => sign.charCodeAt(0));
    const codes = new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
    let from = 0;
    return sample.layers.map(([measure, group, most, full]) => {
      const [kind, name, unit, factor] = data.series.measures[measure];
      const lines = data.series.groups[group].map((resource) => {
        const part = codes.subarray(from, from + sample.steps);
        from += sample.steps;
        const [role, host, device] = data.series.resources[resource];
        return { role, host, device, values: Array.from(part, (code) => (code === NOTHING ? null : (code / LEVELS) * most * factor)) };
      });
      return { kind, name, unit, full: full === null ? null : full * factor, lines };
    });
  }

  // what came nearest to its limit is what one wants to see first
  function busiest(layers) {
    const share = (layer) => (layer.full ? Math.max(...layer.lines.flatMap((line) => line.values)) / layer.full : 0);
    return [...layers].sort((one, other) => share(other) - share(one))[0];
  }

  async function series() {
    const packed = data.series.samples;
    if (!packed.length) { at("series").replaceChildren(el("p", {}, "No telemetry of valid samples.")); return; }
    const sample = packed.find((each) => String(each.number) === words.get("sample")) || packed[0];
    const layers = await unpacked(sample);
    const chosen = layers.find((each) => `${each.kind}: ${each.name}` === words.get("measure")) || busiest(layers);
    const hosts = [...new Set(chosen.lines.map((line) => line.host))], host = hosts.includes(words.get("host")) ? words.get("host") : "";
    const lines = chosen.lines.filter((line) => !host || line.host === host);
    const set = (key) => (value) => { words.set(key, value); state.write(Object.fromEntries(words)); series(); };
    at("choice").replaceChildren(
      select("Sample", packed.map((each) => [String(each.number), String(each.number)]), String(sample.number), set("sample")),
      select("Measure", layers.map((each) => [`${each.kind}: ${each.name}`, `${each.name}${each.unit ? `, ${each.unit}` : ""} (${each.kind})`]), `${chosen.kind}: ${chosen.name}`, set("measure")),
      select("Host", [["", "all"], ...hosts.filter(Boolean).map((each) => [each, each])], host, set("host")));
    const name = (line) => [line.host || "the machine", line.device].filter(Boolean).join(" ");
    const points = lines.map((line) => ({ words: `${name(line)} (${line.role})` }));
    const values = lines.flatMap((line, n) => line.values.map((value, step) => ({ at: n, name: name(line), role: line.role, time: sample.end + step * sample.step, value })));
    const x = { field: "time", type: "quantitative", title: "seconds since the command began", scale: { nice: false } };
    const y = { field: "value", type: "quantitative", title: `${chosen.name}${chosen.unit ? `, ${chosen.unit}` : ""}` };
    const layer = [{ mark: { type: "line", interpolate: "linear", strokeWidth: lines.length > 12 ? 1 : 1.6, opacity: lines.length > 12 ? .7 : .9 }, encoding: { x, y, detail: { field: "at" }, color: colours("role", values, { server: "#1f4e89", client: "#e07b39", machine: "#555555" }), strokeWidth: { condition: { test: "datum.at === picked", value: 3.5 }, value: lines.length > 12 ? 1 : 1.6 } } }];
    if (sample.part) layer.unshift({ data: { values: [{ from: sample.part[0], to: sample.part[1] }] }, mark: { type: "rect", color: "var(--mark)" }, encoding: { x: { field: "from", type: "quantitative" }, x2: { field: "to" } } });
    if (chosen.full !== null) layer.push({ data: { values: [{ full: chosen.full }] }, mark: { type: "rule", strokeDash: [5, 4] }, encoding: { y: { field: "full", type: "quantitative" } } });
    await chart.draw(at("series"), { data: { values }, width: Math.max(at("series").clientWidth - 90, 200), height: 300, layer }, { label: `${chosen.name} over time`, points });
    at("series").append(el("details", {}, el("summary", {}, `Numbers: ${lines.length} lines`), table([
      { name: "Host", value: (line) => line.host || "the machine" }, { name: "Device", value: (line) => line.device }, { name: "Role", value: (line) => line.role },
      { name: "Least", right: true, value: (line) => Math.min(...line.values.filter((value) => value !== null)) }, { name: "Most", right: true, value: (line) => Math.max(...line.values) },
    ], lines, "Hosts and disks")));
    at("note").textContent = `${sample.verdict ? `What binds it: ${sample.verdict}. ` : ""}Shaded: the measured part. Dashed: from there on a resource counts as full.`;
    document.documentElement.dataset.drawn = String(lines.length);
  }

  function files() {
    const base = `${/^https?:/.test(site.raw) ? "" : ROOT}${site.raw}/${encodeURIComponent(campaign)}/cells/${encodeURIComponent(id)}`;
    for (const sample of data.samples) {
      const folder = `sample-${String(sample.sample).padStart(2, "0")}`;
      at("files").append(el("p", { class: "files" }, `${folder}: `, ...sample.files.map((file) => el("a", { href: `${base}/${folder}/${file.split("/").map(encodeURIComponent).join("/")}` }, file))));
    }
    at("files").append(el("p", { class: "soft" }, "Telemetry, health, volume and commands are in evidence.tar.xz."));
  }

  async function used() {
    const says = new Map(data.claims.length ? (await load(`study-${held.study}`)).claims.map((each) => [each.id, each.paraphrase]) : []);
    if (data.claims.length) at("used").append(el("p", {}, "Claims that rest on it:"), el("ul", {}, ...data.claims.map((claim) => el("li", {}, el("a", { href: address("claims", { campaign, claim }) }, says.get(claim))))));
    if (data.used_by.length) at("used").append(el("p", {}, "Figures and tables, each with the command that traces its row to these files:"), el("ul", {}, ...data.used_by.map((use) => el("li", {},
      use.section ? el("a", { href: `${ROOT}sections/${encodeURIComponent(campaign)}/${encodeURIComponent(use.section)}.html#${encodeURIComponent(use.figure)}` }, use.title) : use.title, el("br"),
      el("small", {}, el("a", { href: `${ROOT}files/${encodeURIComponent(campaign)}/${encodeURIComponent(use.csv)}` }, use.csv), " ", el("code", {}, `glusterlab trace figures/${campaign}/${use.csv} ${use.row}`))))));
    if (!data.claims.length && !data.used_by.length) at("used").append(el("p", {}, "No figure and no claim uses it."));
  }

  samples();
  files();
  await used();
  addEventListener("hashchange", () => location.reload());
  await series();
})();
