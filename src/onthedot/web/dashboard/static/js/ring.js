// Draws the ring once a second from what the page was last told; live.js renews that. The same picture as charts/ring.py.
const SLOTS = 60, LABELLED = 20;
const WORDS = { failed: "failed", timed_out: "timed out", lost: "lost", left_out: "left out", skipped: "skipped",
  cancelled: "cancelled", running: "running", waiting: "waiting", succeeded: "succeeded" }; // the worst first
const STATES = Object.keys(WORDS);
const NAMES = { 0: "the full hour", 15: "a quarter past", 30: "half past", 45: "a quarter to" };
const box = document.querySelector("[data-ring]");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const part = (name) => box.querySelector(`[data-ring-${name}]`);
const two = (number) => String(number).padStart(2, "0");
const many = (number) => number.toLocaleString("en");
let facts, base, text, drawn, chosen = null;

const nowMs = () => facts.now + performance.now() - base;
const clock = (ms) => new Date(ms + facts.offset).toISOString().slice(11, 19);
const length = (count) => Math.min(6 + 11.55 * Math.log(1 + count), 64);
const fade = (step, each, least) => Math.max(1 - each * step, least).toFixed(2);

function coming(second) {
  return facts.coming[second - Math.floor(facts.now / 1000) - 1] || 0;
}

function told(ahead, past) {
  const came = STATES.filter((state) => past[state]).map((state) => `${many(past[state])} ${WORDS[state]}`).join(", ");
  return [ahead ? `${many(ahead)} to come` : "", came].filter(Boolean).join("; ");
}

function marks(came) {
  const present = STATES.filter((state) => came[state]).slice(0, 5);
  const shown = Object.fromEntries(present.map((state) => [state, 1]));
  for (const state of [...present].reverse()) {
    const room = 5 - Object.values(shown).reduce((sum, each) => sum + each, 0);
    shown[state] += Math.min(came[state] - 1, room);
  }
  const all = present.flatMap((state) => Array(shown[state]).fill(state));
  return all.map((state, number) => `<use href="#ring-${state}" y="-${(113 - 9.4 * number).toFixed(1)}"/>`).join("");
}

function slotAt(second, slot) {
  const behind = (((second - slot) % SLOTS) + SLOTS) % SLOTS, ahead = behind ? SLOTS - behind : SLOTS;
  return { slot, behind, ahead, coming: coming(second + ahead), came: facts.came[second - behind] || {} };
}

function drawSlot({ slot, behind, ahead, coming: count, came }) {
  const wide = slot % 5 === 0, classes = `${wide ? "q" : "t"}${behind ? "" : " is-now"}${slot === chosen ? " is-chosen" : ""}`;
  const bar = count ? `<path class="${count > LABELLED ? "coming herd" : "coming"}" d="M0-139V-${(139 + length(count)).toFixed(1)}" opacity="${fade(ahead - 1, 0.0145, 0.34)}"/>` : "";
  const inside = marks(came);
  return `<g transform="rotate(${slot * 6})"><path class="${classes}" d="M0-${wide ? "124V-131" : "126V-130"}"/>${bar}${inside && `<g opacity="${fade(behind, 0.0165, 0.22)}">${inside}</g>`}</g>`;
}

function place(slot, radius) {
  const angle = (slot * 6 * Math.PI) / 180, x = Math.sin(angle) * radius, y = -Math.cos(angle) * radius;
  if (slot <= 7 || slot >= 53) {
    const side = slot < 30 ? 1 : -1;
    return [x + 13 * side, Math.max(y + 12, -196), side > 0 ? "start" : "end"];
  }
  const shifted = y + (y > -40 ? 16 : -22);
  return [Math.max(Math.min(x, 200), -200), Math.max(Math.min(shifted, 180), -196), slot < 30 ? "end" : "start"];
}

function label({ slot, ahead, coming: count }, second) {
  const at = clock((second + ahead) * 1000), [x, y, anchor] = place(slot, 139 + length(count)).map((each) => each.toFixed ? each.toFixed(0) : each);
  const name = at.endsWith("00") ? NAMES[Number(at.slice(3, 5))] || "the full minute" : "";
  return `<text x="${x}" y="${y}" class="herd" text-anchor="${anchor}">${many(count)} at ${at}${name && `<tspan x="${x}" dy="15" class="why">${name}</tspan>`}</text>`;
}

function labels(slots, second) {
  const kept = [];
  for (const each of slots.filter((slot) => slot.coming > LABELLED).sort((a, b) => b.coming - a.coming || a.ahead - b.ahead)) {
    const apart = kept.every((other) => Math.abs(each.ahead - other.ahead) >= 5 && Math.abs(each.ahead - other.ahead) <= 55);
    if (kept.length < 3 && apart) kept.push(each);
  }
  const quarters = [[15, 191, 4], [30, 0, 198], [45, -191, 4]].filter(([slot]) => slots[slot].coming <= LABELLED);
  return quarters.map(([slot, x, y]) => `<text x="${x}" y="${y}" class="mid">:${slot}</text>`).join("") + kept.map((each) => label(each, second)).join("");
}

function summary(slots) {
  const totals = {};
  for (const { came } of slots) for (const state in came) totals[state] = (totals[state] || 0) + came[state];
  const came = STATES.reduce((sum, state) => sum + (state === "left_out" ? 0 : totals[state] || 0), 0);
  const bad = STATES.slice(0, 6).filter((state) => totals[state]).map((state) => `${many(totals[state])} ${WORDS[state]}`);
  return [`${many(slots.reduce((sum, each) => sum + each.coming, 0))} to come`, `${many(came)} came`, ...bad].join(" · ");
}

function say(slots) {
  const slot = slots[chosen], words = slot && `:${two(chosen)}: ${told(slot.coming, slot.came) || "nothing"}`;
  part("said").textContent = words || "";
  box.setAttribute("aria-valuetext", words || "none chosen");
}

function draw() {
  const now = nowMs(), second = Math.floor(now / 1000);
  const slots = Array.from({ length: SLOTS }, (_, slot) => slotAt(second, slot));
  part("slots").innerHTML = slots.map(drawSlot).join("") + labels(slots, second);
  const angle = (ms) => ((ms % 60000) * 6 * Math.PI) / 180000, point = (a) => `${(Math.sin(a) * 127.5).toFixed(1)} ${(-Math.cos(a) * 127.5).toFixed(1)}`;
  part("held").setAttribute("d", `M${point(angle(now))}A127.5 127.5 0 0 1 ${point(angle(now + facts.ahead))}`);
  part("time").textContent = clock(now);
  part("sum").textContent = summary(slots);
  say(slots);
  if (second !== drawn) turn(now);
  drawn = second;
}

function turn(now) { // the hand is an animation of the style; here it is only set right
  part("turn").setAttribute("transform", still.matches ? `rotate(${(now % 60000) * 0.006})` : "");
  part("hand").classList.toggle("turns", !still.matches);
  for (const animation of part("hand").getAnimations()) {
    if (Math.abs(animation.currentTime % 60000 - now % 60000) > 150) animation.currentTime = now % 60000;
  }
}

function read() {
  const said = document.getElementById("ring-data");
  if (!said || said.textContent === text) return;
  const first = text === undefined && performance.getEntriesByType("navigation")[0];
  text = said.textContent;
  facts = JSON.parse(text);
  base = first ? first.responseStart : performance.now();
  draw();
}

function tick() {
  if (!document.hidden) draw();
  setTimeout(tick, 1000 - (nowMs() % 1000) + 5);
}

function choose(slot) {
  chosen = slot === null ? null : ((slot % SLOTS) + SLOTS) % SLOTS;
  if (chosen !== null) box.setAttribute("aria-valuenow", chosen);
  draw();
}

if (box) {
  const svg = part("svg");
  for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": "Second of the minute", "aria-valuemin": 0, "aria-valuemax": 59, "aria-valuenow": 0 })) box.setAttribute(name, value);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step) choose((chosen === null ? new Date(nowMs()).getUTCSeconds() : chosen) + step);
    else if (event.key === "Escape" && chosen !== null) choose(null);
    else return;
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    const x = event.clientX - left - width / 2, y = event.clientY - top - (height * 212) / 416;
    const slot = Math.round((Math.atan2(x, -y) * 30) / Math.PI);
    if (Math.hypot(x, y) > width * 0.16) choose(slot);
  });
  svg.addEventListener("pointerleave", () => choose(null));
  new MutationObserver(read).observe(box.closest("section"), { childList: true, subtree: true, characterData: true });
  read();
  tick();
}
