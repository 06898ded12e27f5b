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
      const made = new MiniSearch({ fields: ["t", "x", "k", "campaign"], storeFields: ["t", "k", "u", "campaign"], searchOptions: { boost: { t: 3 }, prefix: true, combineWith: "AND" } });
      made.addAll(lists.flat().map((entry, id) => ({ id, ...entry })));
      return made;
    });
  }

  async function show() {
    const text = input.value.trim();
    if (!text) { place.hidden = true; return; }
    await prepare();
    const hits = (await index).search(text).slice(0, 20);
    place.replaceChildren(...hits.map((hit) => el("a", { href: ROOT + hit.u }, hit.t, " ", el("small", {}, `${hit.k}, ${hit.campaign}`))),
      ...(hits.length ? [] : [el("p", {}, "Nothing has all of these words.")]));
    place.hidden = false;
  }

  input.addEventListener("focus", prepare);
  input.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") place.hidden = true;
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const links = [...place.querySelectorAll("a")], at = links.indexOf(document.activeElement);
      if (place.hidden || !links.length || (at < 0 && document.activeElement !== input)) return;
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? input : links[Math.min(next, links.length - 1)]).focus();
    }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) place.hidden = true; });
})();
