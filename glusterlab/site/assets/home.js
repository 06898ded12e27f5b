"use strict";
for (const place of document.querySelectorAll(".interval")) place.append(glusterlab.interval(JSON.parse(place.dataset.of)));
