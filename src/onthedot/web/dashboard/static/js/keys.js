// The keyboard. Letters are off inside fields, and can be turned off altogether.
import "./dialogs.js";

const GO = { o: "/", t: "/timeline", s: "/schedules", r: "/runs", n: "/nodes" };
const root = document.body.dataset.root ?? "";
const rows = () => [...document.querySelectorAll("[data-row]")];
const here = () => document.querySelector("[data-row].here");
const off = () => localStorage.getItem("onthedot-keys") === "off";
let going = 0;

function move(step) {
  const all = rows(), at = all.indexOf(here());
  if (!all.length) return;
  all[at]?.classList.remove("here");
  const row = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  row.classList.add("here");
  row.scrollIntoView({ block: "nearest" });
  (row.querySelector("a[href]") ?? row).focus({ preventScroll: true });
}

function press(key) {
  const picked = document.querySelector("[data-row] input[type=checkbox]:checked");
  const places = [picked && document.querySelector(".bulk"), here(), document];
  for (const place of places) {
    const target = place?.querySelector(`[data-key="${key}"]:not(:disabled)`);
    if (target?.checkVisibility?.() ?? target) return target.click(), true;
  }
  return false;
}

function escape() {
  const picked = document.querySelectorAll("[data-row] input[type=checkbox]:checked");
  for (const box of picked) box.click();
  if (!picked.length) here()?.classList.remove("here");
  document.activeElement?.blur();
}

function act(key) {
  if (going && performance.now() - going < 1500) {
    going = 0;
    if (key in GO) return location.assign(root + GO[key]), true;
  }
  switch (key) {
    case "g": going = performance.now(); return true;
    case "j": case "ArrowDown": return rows().length > 0 && (key === "j" || here()) && (move(1), true);
    case "k": case "ArrowUp": return rows().length > 0 && (key === "k" || here()) && (move(-1), true);
    case "x": here()?.querySelector("input[type=checkbox]")?.click(); return true;
    case "/": {
      const find = document.querySelector("[data-find],input[type=search]");
      find ? (find.focus(), find.select?.()) : location.assign(`${root}/schedules#find`);
      return true;
    }
    case "Escape": escape(); return false;
    default: return /^[a-z?]$/.test(key) && press(key);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const field = event.target.closest?.("input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]");
  if (event.key === "Escape" && field && !field.closest("dialog")) return field.blur();
  if (field || document.querySelector("dialog[open]") || (off() && event.key !== "Escape" && event.key !== "?")) return;
  if (act(event.key)) event.preventDefault();
});

document.addEventListener("onthedot:asked", ({ detail }) => {
  const place = detail.querySelector("[data-keys-switch]");
  if (!place) return;
  const button = Object.assign(document.createElement("button"), { className: "link" });
  const name = () => (button.textContent = off() ? "Turn the keys on" : "Turn the keys off");
  button.onclick = () => (localStorage.setItem("onthedot-keys", off() ? "on" : "off"), name());
  name();
  place.append(" ", button);
});
