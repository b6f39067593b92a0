"use strict";
(() => {
  const { byId, drawAll } = window.tacit;
  const { specs } = JSON.parse(byId("data").textContent);
  drawAll(Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, { spec, rows: () => ({}) }])));
})();
