// Keeps the page true. Hears that something changed, fetches the page anew, replaces what is marked data-live="topics".
// At most once a second; not while the tab is hidden; every five seconds where no stream is to be had.
import { morph } from "./morph.js";

const APART = 1000, POLL = 5000, AWAY = 2000;
const root = document.body.dataset.root ?? "";
const marked = () => [...document.querySelectorAll("[data-live]")];
const topicsOf = (element) => element.dataset.live.split(/\s+/);
const news = new Set();
let stream = null, timer = 0, poll = 0, last = 0, busy = false, lost = null, over = false;

function tell(word, on) {
  for (const sign of document.querySelectorAll("[data-state]")) {
    sign.classList.toggle("on", on);
    sign.lastElementChild.textContent = word;
  }
}

function settle() {
  if (over) tell("signed out", false);
  else if (lost) tell(`away since ${lost.toTimeString().slice(0, 8)}`, false);
  else if (document.body.hasAttribute("data-away")) tell("not live", false);
  else tell(stream?.readyState === 1 ? "live" : "every 5 s", true);
}

/** The page as the server has it now; null where it cannot be had. */
async function fetched() {
  try {
    const answer = await fetch(location.href, { headers: { "X-Fragment": "1" }, credentials: "same-origin" });
    if (new URL(answer.url).pathname === `${root}/sign-in`) {
      over = true;
      stop();
      return null;
    }
    if (![200, 404, 503].includes(answer.status)) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    lost = page.body.dataset.now ? null : (lost ?? new Date());
    return page;
  } catch {
    lost ??= new Date();
    return null;
  }
}

/** Puts another state of this page in place of what is shown; only parts with one of these topics, if any are named. */
export function show(page, topics = null) {
  if (!page.body.dataset.now) return;
  for (const element of marked()) {
    const now = element.id && page.getElementById(element.id);
    const wanted = !topics || topicsOf(element).some((topic) => topic === "*" || topics.has(topic));
    if (now && wanted) morph(element, now);
  }
  document.body.dataset.now = page.body.dataset.now;
  if (!topics) document.body.dataset.version = page.body.dataset.version; // of the oldest part that is shown
  document.body.toggleAttribute("data-away", page.body.hasAttribute("data-away"));
  for (const control of document.querySelectorAll("form[method=post] button")) control.disabled = isOff(control);
  document.dispatchEvent(new CustomEvent("onthedot:shown"));
}

/** Acts are off while the store is away. */
const isOff = (control) => document.body.hasAttribute("data-away") || control.hasAttribute("data-off");

export async function refresh() {
  clearTimeout(timer);
  timer = 0; // also where a slow answer is still on its way: what is news by then is planned for when it has come
  if (busy) return;
  busy = true;
  const topics = new Set(news);
  news.clear();
  const wasAway = document.body.hasAttribute("data-away") || lost;
  const page = await fetched();
  last = performance.now();
  busy = false;
  if (document.querySelector("[data-again]")) return page?.querySelector("[data-again]") ? plan(AWAY) : location.reload();
  if (page) show(page, wasAway || page.body.hasAttribute("data-away") || topics.has("*") ? null : topics);
  settle();
  if (lost || document.body.hasAttribute("data-away")) hear("*", AWAY);
  else if (wasAway) start();
  else if (news.size) plan();
}

function plan(wait = 0) {
  if (!timer && !document.hidden && !over) timer = setTimeout(refresh, Math.max(wait, last + APART - performance.now(), 0));
}

function hear(topic, wait = 0) {
  news.add(topic);
  plan(wait);
}

function start() {
  if (document.hidden || stream || over) return;
  const topics = new Set(marked().flatMap(topicsOf));
  topics.delete("*");
  stream = new EventSource(`${root}/api/v1/events?topics=${[...topics].join(",")}&after=${document.body.dataset.version}`);
  for (const topic of [...topics, "store"]) stream.addEventListener(topic, () => hear(topic === "store" ? "*" : topic));
  stream.addEventListener("reset", () => hear("*"));
  stream.onopen = () => {
    clearInterval(poll);
    poll = 0;
    settle();
  };
  stream.onerror = () => {
    if (stream?.readyState === 2) {
      stream = null;
      setTimeout(start, 30000);
    }
    poll ||= setInterval(() => hear("*"), POLL);
    hear("*");
  };
}

function stop() {
  stream?.close();
  stream = null;
  clearInterval(poll);
  clearTimeout(timer);
  poll = timer = 0;
}

if (document.querySelector("[data-again]")) plan(AWAY);
else if (document.body.dataset.now) {
  last = performance.now();
  start();
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : (start(), hear("*"))));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => event.persisted && (start(), hear("*")));
}
