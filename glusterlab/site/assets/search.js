"use strict";
// Search over all campaigns; its index is made when somebody begins to search.
(() => {
  const { el, load, ROOT } = glusterlab;
  const input = document.getElementById("search"), place = document.getElementById("found");
  let index = null;

  async function prepare() {
    if (index) return;
    index = new Promise((resolve, reject) => {
      const script = el("script", { src: `${ROOT}assets/vendor/minisearch.js`, onload: resolve, onerror: reject });
      document.head.append(script);
    }).then(async () => {
      const site = await load("site");
      const lists = await Promise.all(site.campaigns.map(async (campaign) =>
        (await load(`search/${campaign.name}`)).map((entry) => ({ ...entry, campaign: campaign.title }))));
      const more = site.campaigns.map((campaign) => ({ t: `${campaign.title}: all its numbers`, k: "campaign", u: `explore.html#campaign=${encodeURIComponent(campaign.name)}`, x: `${campaign.name} ${campaign.release} ${campaign.study}`, campaign: campaign.title }));
      for (const { one, other } of (await load("pairs")).pairs) {
        const [x, y] = [one, other].map((name) => site.campaigns.find((each) => each.name === name));
        more.push({ t: `${other} against ${one}: which cells are slower, which faster`, k: "comparison", u: `compare.html#one=${encodeURIComponent(one)}&other=${encodeURIComponent(other)}`, x: `${x.release} ${y.release} compare`, campaign: y.title });
      }
      // 32 KB finds 32 KiB, creates finds create, and 10.3 is one word
      const processTerm = (term) => term.toLowerCase().replace(/^([kmgt])ib$/, "$1b").replace(/(?<=\w{3})s$/, "");
      const made = new MiniSearch({ tokenize: (text) => text.split(/[^\p{L}\p{N}.+]+|\.(?!\d)/u).filter(Boolean), processTerm, fields: ["t", "x", "k", "campaign"], storeFields: ["t", "k", "u", "campaign"], searchOptions: { boost: { t: 3 }, prefix: true, combineWith: "AND" } });
      made.addAll([...more, ...lists.flat()].map((entry, id) => ({ id, ...entry })));
      return made;
    });
  }

  async function show() {
    const text = input.value.trim();
    if (!text) { place.hidden = true; return; }
    await prepare();
    const all = (await index).search(text), hits = (all.length ? all : (await index).search(text, { combineWith: "OR" })).slice(0, 20);
    place.replaceChildren(...(all.length || !hits.length ? [] : [el("p", {}, "Nothing has all of these words. These have some:")]), ...hits.map((hit) => el("a", { href: ROOT + hit.u }, hit.t, " ", el("small", {}, `${hit.k}, ${hit.campaign}`))),
      ...(hits.length ? [] : [el("p", {}, "Nothing has any of these words.")]));
    place.hidden = false;
  }

  input.addEventListener("focus", prepare);
  input.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !place.hidden) { place.hidden = true; input.focus(); }
    if (event.key === "Enter" && document.activeElement === input && !place.hidden) place.querySelector("a")?.click();
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const links = [...place.querySelectorAll("a")], at = links.indexOf(document.activeElement);
      if (place.hidden || !links.length || (at < 0 && document.activeElement !== input)) return;
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? input : links[Math.min(next, links.length - 1)]).focus();
    }
  });
  for (const kind of ["click", "focusin"]) document.addEventListener(kind, (event) => { if (!event.target.closest(".search")) place.hidden = true; });
})();
