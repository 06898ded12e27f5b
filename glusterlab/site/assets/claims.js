"use strict";
// What a study states against what a campaign measured, each with the comparisons behind its verdict.
(async () => {
  const { load, el, number, table, rows, state, address, select, verdict, interval } = glusterlab;
  const site = await load("site"), words = state.read();
  const judged = site.campaigns.filter((each) => each.totals).sort((one, other) => other.cells - one.cells);
  const place = document.getElementById("claims"), MEASURED = "measured", EVIDENCE = "evidence";
  if (!judged.length) { place.append("No campaign of this report is of a study with claims."); return; }
  const chosen = { campaign: words.get("campaign") || judged[0].name, chapter: words.get("chapter") || "", kind: words.get("class") || (words.get("claim") ? "all" : EVIDENCE), verdict: words.get("verdict") || (words.get("claim") ? "all" : MEASURED), claim: words.get("claim") || "" };
  if (!judged.some((each) => each.name === chosen.campaign)) chosen.campaign = judged[0].name;

  function estimate(of, unit) {
    if (!of) return "";
    return `${number(of.value)}${unit ? ` ${unit}` : ""}${of.low === null ? "" : ` (${number(of.low)} to ${number(of.high)})`}${of.n ? `, n = ${of.n}` : ""}`;
  }

  function comparison(each, unit) {
    if (each.missing) return el("li", {}, `${each.label}: not measured, ${each.missing}`);
    const list = el("ul", {}, ...each.cells.map((cell) => el("li", {}, `${cell.divides ? "divided by" : "of"} `,
      el("a", { href: address("cell", { campaign: cell.campaign || chosen.campaign, cell: cell.cell_id }) }, cell.cell_id),
      ` ${cell.values.map(number).join(", ")} ${cell.unit}${cell.scale === 1 ? "" : `, times ${number(cell.scale)}`}`)));
    return el("li", {}, `${each.label}: ${estimate(each.ratio, unit)}${each.notes.length ? `; ${each.notes.join("; ")}` : ""}`, list);
  }

  function claim(of) {
    const told = of.stated, ratio = of.ratio !== undefined && of.ratio !== null;
    const whole = of.over_the_whole_time;
    const box = el("details", { class: "claim", id: of.id, open: chosen.claim === of.id },
      el("summary", {}, el("span", {}, verdict(of.verdict), ` ${told.paraphrase}`, el("br"), el("span", { class: "soft" }, `The study: ${told.published || told.words}${of.measured ? `. Measured: ${estimate(of.measured, told.unit)}` : ""}`
        + (ratio && told.unit ? `; of the study's ${estimate({ value: of.ratio, low: of.ratio_low ?? null, high: of.ratio_high ?? null })}` : "")
        + (["reproduced", "compatible", "depends on counting"].includes(of.verdict) || !of.why ? "" : `. ${of.why[0].toUpperCase()}${of.why.slice(1).split("; ")[0]}`)
        + (of.verdict === "depends on counting" ? `; over the whole time ${estimate(whole.measured, told.unit)}` : ""))),
      ratio ? interval(of) : null));
    const fill = async () => {
      if (box.childElementCount > 1) return;
      box.append(el("p", {}, `${of.verdict}: ${of.why}.`));
      const line = (text) => box.append(el("p", { class: "soft" }, text));
      if (of.repeats) line(`What would decide it: ${of.repeats} samples on each side.`);
      if (whole) line(`Over the whole time: ${estimate(whole.measured, told.unit)}, ${whole.verdict}.`);
      line(`${told.section}${told.figure.length ? ` (${told.figure.join(", ")})` : ""}. In its words: "${told.words}". ${told.reading || ""} (${of.class}, ${of.id})`);
      for (const other of told.contradicts) box.append(el("p", { class: "soft" }, "It does not fit ", el("a", { href: address("claims", { campaign: chosen.campaign, claim: other }) }, other), "."));
      const behind = (await load(`comparisons/${chosen.campaign}`))[of.id] || [];
      box.append(el("ul", {}, ...behind.map((each) => comparison(each, told.kind === "value" ? "of the published number" : ""))));
    };
    box.addEventListener("toggle", fill);
    if (box.open) fill();
    return box;
  }

  async function show() {
    const campaign = judged.find((each) => each.name === chosen.campaign);
    const data = await load(`claims/${campaign.name}`), study = await load(`study-${campaign.study}`);
    const stated = new Map(study.claims.map((each) => [each.id, each]));
    const all = data.claims.map((each) => ({ ...each, stated: stated.get(each.id) }));
    // an address may name what is not there
    if (chosen.claim && !stated.has(chosen.claim)) Object.assign(chosen, { claim: "", kind: EVIDENCE, verdict: MEASURED });
    if (!all.some((each) => each.stated.chapter === chosen.chapter)) chosen.chapter = "";
    if (![EVIDENCE, "all"].includes(chosen.kind) && !all.some((each) => each.class === chosen.kind)) chosen.kind = EVIDENCE;
    if (![MEASURED, "all", ...site.verdicts].includes(chosen.verdict)) chosen.verdict = MEASURED;
    const ofKind = (each) => (chosen.kind === EVIDENCE ? !["arithmetic", "fact"].includes(each.class) : chosen.kind === "all" || each.class === chosen.kind);
    const only = all.filter((each) => (!chosen.chapter || each.stated.chapter === chosen.chapter) && ofKind(each) && (chosen.verdict === "all" || each.verdict === chosen.verdict || (chosen.verdict === MEASURED && each.verdict !== "not measured")));
    state.write({ campaign: chosen.campaign, chapter: chosen.chapter, class: chosen.kind, verdict: chosen.verdict, claim: chosen.claim });
    const set = (key) => (value) => { chosen[key] = value; chosen.claim = ""; show(); };
    const values = (get) => [["", "all"], ...[...new Set(all.map(get))].map((value) => [value, value])];
    document.getElementById("choice").replaceChildren(
      select("Campaign", judged.map((each) => [each.name, each.title]), chosen.campaign, set("campaign")),
      select("Chapter", values((each) => each.stated.chapter), chosen.chapter, set("chapter")),
      select("Class", [[EVIDENCE, "what a campaign can tell"], ["all", "all"], ...values((each) => each.class).slice(1)], chosen.kind, set("kind")),
      select("Verdict", [[MEASURED, "all that are measured"], ["all", "all"], ...site.verdicts.map((each) => [each, each])], chosen.verdict, set("verdict")));
    document.getElementById("headline").textContent = campaign.headline;
    const totals = rows(campaign.totals), columns = campaign.totals.columns;
    document.getElementById("totals").replaceChildren(el("details", {}, el("summary", {}, "Claims and independent ratios by class"),
      table(columns.map((name, n) => ({ name, right: n > 1, value: (row) => row[name] })), totals, "Claims by class and verdict")));
    const note = document.getElementById("note"), without = all.filter((each) => ofKind(each) && (!chosen.chapter || each.stated.chapter === chosen.chapter) && each.verdict === "not measured").length;
    note.textContent = `${only.length} of ${all.length} claims${chosen.verdict === MEASURED && without ? `; ${without} others are not measured ` : ""}`;
    if (chosen.verdict === MEASURED && without) note.append(el("button", { type: "button", onclick: () => set("verdict")("all") }, "Show them, too"));
    const begins = (each, n) => !n || each.stated.chapter !== only[n - 1].stated.chapter;  // a statement is understood from its chapter
    place.replaceChildren(...only.flatMap((each, n) => [...(begins(each, n) ? [el("h2", {}, each.stated.chapter)] : []), claim(each)]));
    document.documentElement.dataset.drawn = String(only.length);
    if (chosen.claim) document.getElementById(chosen.claim)?.scrollIntoView({ block: "center" });
  }

  addEventListener("hashchange", () => location.reload());
  await show();
})();
