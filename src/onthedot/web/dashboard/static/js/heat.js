// Names the square under the pointer, chooses one by a click or the keys, and copies the new lines.
const box = () => document.querySelector("[data-heat]");
let at = null;

function tell(map, place) {
  const { first, cell, squares, zoneName } = map.dataset, all = squares.split(","), said = document.querySelector("[data-heat-said]");
  at = place === null ? null : Math.max(0, Math.min(place, all.length - 1));
  const clock = { timeZone: zoneName, weekday: "short", hour: "2-digit", minute: "2-digit", ...(cell < 60000 && { second: "2-digit" }) };
  const when = at !== null && new Intl.DateTimeFormat("en-GB", clock).format(Number(first) + at * cell);
  said.textContent = at === null ? "" : `${when}: ${Number(all[at]).toLocaleString("en")} run${all[at] === "1" ? "" : "s"}`;
  const slider = map.querySelector("[role=slider]");
  slider.setAttribute("aria-valuetext", said.textContent || "none");
  slider.setAttribute("aria-valuenow", at ?? 0);
}

function placeOf(map, event) {
  const { left, top, width, height } = map.querySelector(".heat-map").getBoundingClientRect();
  const rows = map.dataset.squares.split(",").length / 60, x = (event.clientX - left) / width, y = (event.clientY - top) / height;
  return x < 0 || x >= 1 || y < 0 || y >= 1 ? null : Math.floor(y * rows) * 60 + Math.floor(x * 60);
}

function choose(map) {
  const moment = new Date(Number(map.dataset.first) + at * map.dataset.cell).toISOString().replace(".000", "");
  const address = new URL(map.dataset.href, location);
  address.searchParams.set("at", moment);
  location.href = address;
}

function pressed(event) {
  const map = box(), step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 60, ArrowUp: -60 }[event.key];
  if (step) tell(map, (at ?? 0) + step);
  else if (event.key === "Enter" && at !== null) choose(map);
  else return;
  event.preventDefault();
}

function start() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard; // not over plain HTTP
  const svg = box()?.querySelector(".heat-map")?.parentElement;
  if (!svg || svg.role === "slider") return;
  for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": "Squares of the map", "aria-valuemin": 0, "aria-valuemax": 9999, "aria-valuenow": 0 })) svg.setAttribute(name, value);
  svg.onkeydown = pressed;
  svg.onpointermove = (event) => tell(box(), placeOf(box(), event));
  svg.onpointerleave = () => tell(box(), null);
  svg.onclick = () => at !== null && choose(box());
}

document.addEventListener("click", async ({ target }) => {
  const from = target.closest?.("[data-copy]")?.dataset.copy;
  if (!from) return;
  await navigator.clipboard.writeText(await (await fetch(from)).text());
  target.textContent = "Copied";
});
document.addEventListener("onthedot:shown", start);
start();
