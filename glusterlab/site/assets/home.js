"use strict";
for (const place of document.querySelectorAll(".interval")) {
  const [ratio, low, high, bandLow, bandHigh] = ["ratio", "low", "high", "bandLow", "bandHigh"].map((name) => (place.dataset[name] === "" ? null : Number(place.dataset[name])));
  place.append(glusterlab.interval({ ratio, low, high, bandLow, bandHigh }));
}
