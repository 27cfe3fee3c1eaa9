// The log that follows: lines come as events; where no stream is to be had, they are asked for every two seconds.
const log = document.getElementById("log"), { root = "", zoneName = "UTC" } = document.body.dataset;
const kinds = { WARNING: "w", ERROR: "e", CRITICAL: "e", PROGRESS: "p" };
const clock = new Intl.DateTimeFormat("en-GB", { timeZone: log.dataset.zone || zoneName, timeStyle: "medium" });
const address = `${root}/api/v1/runs/${encodeURIComponent(log.dataset.run)}/logs`;
let after = Number(log.dataset.after), claim = log.dataset.claim, events = null, poll = 0;

const made = (tag, text, className = "") => Object.assign(document.createElement(tag), { textContent: text, className });

function add(line) {
  const kind = kinds[line.level] ?? "", atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
  after += 1;
  if ("warnings" in log.dataset && kind !== "w" && kind !== "e") return;
  log.querySelector(".none")?.remove();
  if (claim !== String(line.claim_no)) {
    log.append(made("p", "", "sep"));
    log.lastChild.dataset.claim = claim = String(line.claim_no);
    name();
  }
  const row = made("p", "", kind), at = new Date(line.at);
  row.append(made("time", `${clock.format(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`), made("i", line.level.slice(0, 8)), made("span", line.text));
  row.firstChild.title = line.at;
  log.append(row);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

/** Who tried is known as soon as the page has been fetched anew. */
function name() {
  const known = JSON.parse(document.getElementById("attempts").dataset.claims);
  for (const sep of log.querySelectorAll("[data-claim]")) sep.textContent = known[sep.dataset.claim] ?? `claim ${sep.dataset.claim}`;
}

function say(text, on = false) {
  const place = document.querySelector("[data-following]");
  place?.classList.toggle("on", on);
  place?.lastElementChild.replaceWith(made("span", text));
}

async function look() {
  const answer = await fetch(`${address}?after=${after}`).catch(() => null);
  if (answer?.ok) (await answer.json()).lines.forEach(add);
}

function follow() {
  if (document.hidden || events) return;
  events = new EventSource(`${address}?follow=true&after=${after}`);
  events.onopen = () => say("following", true);
  events.addEventListener("line", (event) => add(JSON.parse(event.data)));
  events.addEventListener("end", () => {
    events.close();
    say("it has ended");
  });
  events.onerror = () => {
    if (events.readyState === 2) poll ||= setInterval(look, 2000);
    say(poll ? "every 2 s" : "not followed", !!poll);
  };
}

log.scrollTop = log.scrollHeight;
if ("follow" in log.dataset) {
  follow();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && events?.readyState === 1) events = events.close() ?? null;
    follow();
  });
}

document.addEventListener("onthedot:shown", name);
