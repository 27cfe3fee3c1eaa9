// Seconds that count in sight, by the store's clock; and the browser's zone, told to the server.
const body = document.body, root = body.dataset.root || "/";
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
let ahead = 0;

/** As the server tells durations; see moments.py. */
export function told(ms) {
  const two = (large, name, small, rest, plain = Infinity) => {
    const whole = Math.floor(ms / large), left = Math.floor((ms % large) / small);
    return left && whole < plain ? `${whole} ${name} ${left} ${rest}` : `${whole} ${name}`;
  };
  if (ms < SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return two(MINUTE, "min", SECOND, "s", 10);
  if (ms < DAY) return two(HOUR, "h", MINUTE, "min");
  return two(DAY, "d", HOUR, "h", 10);
}

/** The store's time now. */
export const now = () => performance.timeOrigin + performance.now() + ahead;

const set = () => body.hasAttribute("data-away") && ahead ? 0 : (ahead = Number(body.dataset.now) - performance.timeOrigin - performance.now());

function tick() {
  const at = now();
  for (const each of document.querySelectorAll("[data-counts]")) {
    const left = Number(each.dataset.ms) - at;
    const how = each.dataset.counts, time = told(how === "until" ? left : -left);
    const text = how !== "since" ? time : time === "now" ? "just now" : `${time} ago`;
    if (each.textContent !== text) each.textContent = text;
  }
  for (const ring of document.querySelectorAll("[data-until]")) {
    const left = Math.max(Number(ring.dataset.until) - at, 0);
    ring.querySelector(".left").setAttribute("stroke-dasharray", `${Math.min((100 * left) / ring.dataset.lease, 100)} 100`);
    ring.querySelector("text").textContent = Math.ceil(left / SECOND);
  }
  if (!body.hasAttribute("data-away"))
    for (const clock of document.querySelectorAll("[data-clock]")) clock.textContent = `${format.format(at)} ${zone}`;
  setTimeout(tick, SECOND - (at % SECOND));
}

const zone = body.dataset.zone === "yours" ? body.dataset.zoneName : "UTC";
const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit" });

const mine = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (mine && !document.cookie.split("; ").includes(`onthedot_tz=${mine}`)) {
  document.cookie = `onthedot_tz=${mine};path=${root};max-age=31536000;samesite=lax`;
  if (body.dataset.zone === "yours" && document.cookie.includes(`onthedot_tz=${mine}`)) location.reload();
}

if (body.dataset.now) {
  set();
  document.addEventListener("onthedot:shown", set);
  tick();
}
