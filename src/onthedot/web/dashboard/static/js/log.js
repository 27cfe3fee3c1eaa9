// The log that follows: lines come as events; where no stream is to be had, they are asked for every second.
const log = document.getElementById("log");
const root = document.body.dataset.root ?? "";
const kinds = { WARNING: "w", ERROR: "e", CRITICAL: "e", PROGRESS: "p" };
const names = new Map((log?.dataset.attempts || "").split(";").map((each) => [each.split("=")[0], each.slice(each.indexOf("=") + 1)]));
const clock = new Intl.DateTimeFormat("en-GB", { timeZone: document.body.dataset.zoneName || "UTC", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });
let after = Number(log?.dataset.after ?? 0);
let claim = log?.dataset.claim ?? "";

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function add(line) {
  const kind = kinds[line.level] ?? "";
  after += 1;
  if ("warnings" in log.dataset && kind !== "w" && kind !== "e") return;
  log.querySelector(".none")?.remove();
  if (String(line.claim_no) !== claim) {
    claim = String(line.claim_no);
    log.append(element("p", names.has(claim) ? `attempt ${names.get(claim)}` : `claim ${claim}`, "sep"));
  }
  const row = element("p", "", kind);
  const time = element("time", clock.format(new Date(line.at)));
  time.title = line.at;
  row.append(time, element("i", line.level.slice(0, 8)), element("span", line.text));
  const atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
  log.append(row);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function say(text, on) {
  const place = document.querySelector("[data-following]");
  if (!place) return;
  place.classList.toggle("on", on);
  place.lastElementChild.replaceWith(element("span", text));
}

async function poll(address) {
  try {
    const answer = await fetch(`${address}?after=${after}`);
    if (answer.ok) (await answer.json()).lines.forEach(add);
    say(answer.ok ? "following" : "not followed", answer.ok);
  } catch {
    say("not followed", false);
  }
  setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", () => poll(address), { once: true }) : poll(address)), 1000);
}

function follow(address) {
  const events = new EventSource(`${address}?follow=true&after=${after}`);
  events.onopen = () => say("following", true);
  events.addEventListener("line", (event) => add(JSON.parse(event.data)));
  events.addEventListener("end", () => {
    events.close();
    say("it has ended", false);
  });
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) poll(address); // refused: too many streams, or none here
    else say("not followed", false);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) events.close();
    else if (events.readyState === EventSource.CLOSED) follow(address);
  }, { once: true });
}

if (log) {
  log.scrollTop = log.scrollHeight;
  if ("follow" in log.dataset) follow(`${root}/api/v1/runs/${encodeURIComponent(log.dataset.run)}/logs`);
}

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});
