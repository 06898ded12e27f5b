"use strict";
// What all pages share: data by script files, elements, tables, the state in the address. No text becomes markup here.
const glusterlab = (() => {
  const ROOT = document.documentElement.dataset.root;
  const ALONE = "alone" in document.documentElement.dataset;
  const found = new Map();
  const waiting = new Map();

  function put(name, value) {
    found.set(name, value);
    if (waiting.has(name)) waiting.get(name)(value);
  }

  // cells/reference is data/reference/cells.js, cell/reference/ID data/reference/cell/ID.js
  function load(name) {
    if (found.has(name)) return Promise.resolve(found.get(name));
    const [kind, campaign, id] = name.split("/");
    const parts = id ? [campaign, kind, id] : campaign ? [campaign, kind] : [kind];
    return new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `${ROOT}data/${parts.map(encodeURIComponent).join("/")}.js`;
      script.onerror = () => reject(new Error(`${name} is not in this report`));
      document.head.append(script);
    });
  }

  // a column of text has the numbers of its words, where each stands once
  function rows({ columns, rows: list, words = {} }) {
    return list.map((row) => Object.fromEntries(columns.map((name, n) => [name, words[name] ? words[name][row[n]] : row[n]])));
  }

  function el(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function svg(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // made once: a page writes a thousand numbers before it is seen
  const FORMAT = new Intl.NumberFormat("en", { maximumFractionDigits: 6 }), THREE = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 }), inOrder = new Intl.Collator("en", { numeric: true }).compare;

  function number(value) {
    if (value === null || value === undefined) return "";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
    return Number.isInteger(value) || size >= 1000 ? FORMAT.format(Number(value.toPrecision(4))) : THREE.format(value);
  }

  function bytes(value) {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let n = 0;
    while (value >= 1024 && n < units.length - 1) { value /= 1024; n += 1; }
    return `${number(value)} ${units[n]}`;
  }

  // columns: {name, value(row), text(row)?, link(row)?}; a head sorts by its column
  function table(columns, records, caption) {
    let order = null;
    const body = el("tbody");
    const heads = columns.map((column) => el("th", { scope: "col", class: column.right ? "n" : null },
      el("button", { type: "button", onclick: () => sort(column) }, column.name)));
    const shown = el("table", {}, el("caption", { class: "hidden" }, caption), el("thead", {}, el("tr", {}, ...heads)), body);

    function fill(list) {
      body.replaceChildren(...list.map((row) => el("tr", {}, ...columns.map((column) => {
        const text = column.text ? column.text(row) : column.right ? number(column.value(row)) : String(column.value(row) ?? "");
        const link = column.link && column.link(row);
        const inner = link ? el("a", { href: link }, text) : text;
        return el("td", { class: column.right ? "n" : null }, inner);
      }))));
    }

    function sort(column) {
      order = order && order.column === column ? { column, sign: -order.sign } : { column, sign: 1 };
      heads.forEach((head, n) => {
        head.removeAttribute("aria-sort");
        if (columns[n] === column) head.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
      });
      fill([...records].sort((one, other) => {
        const [a, b] = [column.value(one), column.value(other)];
        const [none, other_] = [a, b].map((each) => each === null || each === undefined || each === "");
        if (none || other_) return none - other_;  // at the end, whichever way
        const by = typeof a === "number" ? a - b : inOrder(String(a), String(b));
        return by * order.sign;
      }));
    }

    fill(records);
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, shown);
  }

  // the state of a page is its address, so that a view can be sent to somebody
  const state = {
    // in a frame of a notebook the name of the frame is the address
    read: () => new URLSearchParams(location.hash.slice(1) || (ALONE ? window.name : "")),
    write(entries) {
      const words = new URLSearchParams();
      for (const [key, value] of Object.entries(entries)) {
        const text = Array.isArray(value) ? value.join("|") : String(value ?? "");
        if (text) words.set(key, text);
      }
      history.replaceState(null, "", `#${words}`);
    },
  };

  function address(page, entries) {
    return ALONE ? null : `${ROOT}${page}.html#${new URLSearchParams(entries)}`;
  }

  function select(label, options, value, onchange) {
    const box = el("select", { onchange: (event) => onchange(event.target.value) },
      ...options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
    return el("label", {}, label, box);
  }

  function verdict(text) {
    return el("span", { class: "verdict", "data-verdict": text }, text);
  }

  // a claim's ratio with its interval against what it allows, on a logarithmic axis; both views where they disagree
  function interval(of) {
    const WIDTH = 352, HEIGHT = 40, LOW = 0.2, HIGH = 5;
    const x = (value) => 10 + (WIDTH - 20) * (Math.log(Math.min(Math.max(value, LOW), HIGH) / LOW) / Math.log(HIGH / LOW));
    const views = [["ratio", "", "measured"], ...(of.verdict === "depends on counting" ? [["ratio_whole", " whole", "over the whole time"]] : [])]
      .map(([key, kind, name]) => ({ kind, name, value: of[key], low: of[`${key}_low`] ?? null, high: of[`${key}_high`] ?? null }));
    const words = views.map((view) => `${view.name} ${number(view.value)}${view.low === null ? "" : `, ${number(view.low)} to ${number(view.high)}`}`).join("; ");
    const made = svg("svg", { class: "interval", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "xMinYMid", role: "img", "aria-label": words });
    const [from, to] = [of.band_low ?? null, of.band_high ?? null];
    if (from !== null || to !== null) made.append(svg("rect", { class: "band", x: x(from || LOW), y: 4, width: Math.max(2, x(to ?? HIGH) - x(from || LOW)), height: 18 }));
    made.append(svg("line", { class: "axis", x1: x(LOW), x2: x(HIGH), y1: 24, y2: 24 }), svg("line", { class: "one", x1: x(1), x2: x(1), y1: 2, y2: 26 }));
    for (const tick of [0.2, 0.5, 1, 2, 5]) made.append(svg("text", { x: x(tick), y: 37, "text-anchor": "middle" }, String(tick)));
    views.forEach((view, n) => {
      const y = views.length > 1 ? 9 + 9 * n : 13;
      if (view.low !== null) made.append(svg("line", { class: `bar${view.kind}`, x1: x(view.low), x2: Math.max(x(view.high), x(view.low) + 1), y1: y, y2: y }));
      made.append(svg("circle", { class: `dot${view.kind}`, cx: x(view.value), cy: y, r: view.low === null ? 4 : view.kind ? 1 : 2 }));
    });
    return made;
  }

  const size = (row) => bytes(row.nominal_size);
  const cellTitle = (row) => `${row.operation} ${size(row)}, ${row.series}, ${row.workers} worker${row.workers === 1 ? "" : "s"}`;

  return { put, load, rows, el, svg, number, bytes, inOrder, table, state, address, select, verdict, interval, cellTitle, ROOT };
})();
