// Draws the ring once a second from what the page was last told (#ring-data). The same picture as charts/ring.py.
import { now } from "./times.js";

const STATES = "failed timed_out lost left_out cancelled running waiting succeeded".split(" "); // worst first
const NAMES = { "00": "the full hour", 15: "a quarter past", 30: "half past", 45: "a quarter to" };
const RIM = 127.5, HERD = 20, still = matchMedia("(prefers-reduced-motion: reduce)");
const range = Array.from({ length: 60 }, (_, slot) => slot), round = (slot) => ((slot % 60) + 60) % 60;
const many = (count) => count.toLocaleString("en"), sum = (counts) => counts.reduce((all, each) => all + each, 0);
const part = (name) => document.querySelector(`[data-ring-${name}]`);
const tall = (count) => 139 + Math.min(6 + 11.55 * Math.log(1 + count), 64);
const fade = (step, least) => Math.max(step, least).toFixed(2);
let facts, box, chosen = null;

const clock = (second) => new Date(second * 1000 + facts.offset).toISOString().slice(11, 19);
const words = (came, states) => states.filter((state) => came[state]).map((state) => `${many(came[state])} ${state.replace("_", " ")}`);

function marks(came) {
  const there = STATES.filter((state) => came[state]).slice(0, 5), shown = there.map(() => 1);
  for (let at = there.length - 1; at >= 0; at--) shown[at] += Math.min(came[there[at]] - 1, 5 - sum(shown));
  const all = there.flatMap((state, at) => Array(shown[at]).fill(state));
  return all.map((state, at) => `<use href="#ring-${state}" y="-${(113 - 9.4 * at).toFixed(1)}"/>`).join("");
}

function slotOf(slot, second) {
  const behind = round(second - slot), ahead = 60 - behind;
  return { slot, behind, ahead, coming: facts.coming[second + ahead - Math.floor(facts.now / 1000) - 1] || 0, came: facts.came[second - behind] || {} };
}

function drawn({ slot, behind, ahead, coming, came }) {
  const fifth = slot % 5 === 0, inside = marks(came);
  const tick = `<path class="${fifth ? "q" : "t"}${behind ? "" : " is-now"}${slot === chosen ? " is-chosen" : ""}" d="M0-${fifth ? "124V-131" : "126V-130"}"/>`;
  const bar = coming && `<path class="coming${coming > HERD ? " herd" : ""}" d="M0-139V-${tall(coming).toFixed(1)}" opacity="${fade(1 - 0.0145 * (ahead - 1), 0.34)}"/>`;
  return `<g transform="rotate(${slot * 6})">${tick}${bar || ""}${inside && `<g opacity="${fade(1 - 0.0165 * behind, 0.22)}">${inside}</g>`}</g>`;
}

function label({ slot, ahead, coming }, second) {
  const at = clock(second + ahead), turn = (slot * Math.PI) / 30, right = slot < 30, middle = Math.abs(slot - 30) < 3, top = Math.abs(slot - 30) > 27;
  let x = Math.sin(turn) * tall(coming), y = -Math.cos(turn) * tall(coming);
  if (top || middle) (x += top ? 13 : 12), (y += top ? 12 : -2);
  else (x = right ? 204 : -204), (y += Math.abs(slot - 30) > 12 ? -13 : 20);
  y = Math.max(Math.min(y, middle ? 196 : 198), top ? -196 : -200).toFixed(0);
  const name = at.endsWith("00") ? NAMES[at.slice(3, 5)] || "the full minute" : "", across = x.toFixed(0);
  return `<text x="${across}" y="${y}" class="herd" text-anchor="${top || middle || !right ? "start" : "end"}">${many(coming)} at ${at}${name && `<tspan x="${across}" dy="15" class="why">${name}</tspan>`}</text>`;
}

function labels(slots, second) {
  const named = [], apart = (a, b) => Math.abs(a.ahead - b.ahead);
  for (const each of slots.filter(({ coming }) => coming > HERD).sort((a, b) => b.coming - a.coming || a.ahead - b.ahead))
    if (named.length < 3 && named.every((other) => apart(each, other) >= 5 && apart(each, other) <= 55)) named.push(each);
  const quarters = [[15, 191, 4], [30, 0, 198], [45, -191, 4]].filter(([slot]) => slots[slot].coming <= HERD);
  return quarters.map(([slot, x, y]) => `<text x="${x}" y="${y}" class="mid">:${slot}</text>`).join("") + named.map((each) => label(each, second)).join("");
}

function tell(slots) {
  const all = {};
  for (const { came } of slots) for (const state in came) all[state] = (all[state] || 0) + came[state];
  const came = sum(Object.values(all)) - (all.left_out || 0);
  part("sum").textContent = [`${many(sum(slots.map(({ coming }) => coming)))} to come`, `${many(came)} came`, ...words(all, STATES.slice(0, 5))].join(" · ");
  const slot = slots[chosen], past = slot && words(slot.came, STATES).join(", ");
  const said = slot ? `:${String(chosen).padStart(2, "0")}: ${[slot.coming && `${many(slot.coming)} to come`, past].filter(Boolean).join("; ") || "nothing"}` : "";
  part("said").textContent = said;
  box.setAttribute("aria-valuetext", said || "none");
}

function draw() {
  const ms = now(), second = Math.floor(ms / 1000), slots = range.map((slot) => slotOf(slot, second));
  const point = (at) => [Math.sin, (a) => -Math.cos(a)].map((f) => (f(((at % 60000) * Math.PI) / 30000) * RIM).toFixed(1)).join(" ");
  part("slots").innerHTML = slots.map(drawn).join("") + labels(slots, second);
  part("held").setAttribute("d", `M${point(ms)}A${RIM} ${RIM} 0 0 1 ${point(ms + facts.ahead)}`);
  part("time").textContent = clock(second);
  tell(slots);
  part("turn").setAttribute("transform", still.matches ? `rotate(${(ms % 60000) * 0.006})` : "");
  part("hand").classList.toggle("turns", !still.matches); // the hand is an animation of the style, here only set right
  for (const turning of part("hand").getAnimations())
    if (Math.abs((turning.currentTime % 60000) - (ms % 60000)) > 150) turning.currentTime = ms % 60000;
}

function choose(slot) {
  chosen = slot === null ? null : round(slot);
  box.setAttribute("aria-valuenow", chosen ?? 0);
  draw();
}

function pressed(event) {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!step && (event.key !== "Escape" || chosen === null)) return;
  event.preventDefault();
  choose(step ? (chosen ?? Math.floor(now() / 1000)) + step : null);
}

function pointed(event) {
  const { left, top, width, height } = box.firstElementChild.getBoundingClientRect();
  const x = event.clientX - left - width / 2, y = event.clientY - top - (height * 212) / 416;
  if (Math.hypot(x, y) > width * 0.16) choose(Math.round((Math.atan2(x, -y) * 30) / Math.PI));
}

function read() {
  const said = document.getElementById("ring-data");
  if (!said) return;
  facts = JSON.parse(said.textContent);
  if (box !== part("box")) {
    box = part("box");
    for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": "Second of the minute", "aria-valuemin": 0, "aria-valuemax": 59 })) box.setAttribute(name, value);
    box.addEventListener("keydown", pressed);
    box.addEventListener("pointermove", pointed);
    box.addEventListener("pointerleave", () => choose(null));
    choose(null);
  } else draw();
}

function tick() {
  if (facts && !document.hidden) draw();
  setTimeout(tick, 1005 - (now() % 1000));
}

document.addEventListener("onthedot:shown", read);
read();
tick();
