// Questions as dialogs, and acts without leaving the page. Without this module both are pages and plain forms.
import { morph } from "./morph.js";
import { refresh, show } from "./live.js";

let dialog = null, opener = null;
const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

function open(content) {
  if (!dialog) {
    dialog = document.body.appendChild(document.createElement("dialog"));
    dialog.addEventListener("close", () => (opener?.isConnected ? opener.focus() : document.getElementById("main").focus()));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  dialog.replaceChildren(...[...content.childNodes].map((node) => document.importNode(node, true)));
  const title = dialog.querySelector("h1");
  title.id = "asked-title";
  dialog.setAttribute("aria-labelledby", title.id);
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("[aria-invalid]") ?? dialog.querySelector("[autofocus]") ?? dialog.querySelector("button,a"))?.focus();
  document.dispatchEvent(new CustomEvent("onthedot:asked", { detail: dialog }));
}

async function ask(address, from) {
  opener = from;
  const url = new URL(address, location.href);
  if (!url.searchParams.has("back")) url.searchParams.set("back", location.pathname + location.search);
  try {
    const content = parsed(await (await fetch(url)).text()).getElementById("ask");
    if (content) return open(content);
  } catch {}
  location.assign(address);
}

/** Does what the form says; the answer is this page as it is afterwards, or the question again. */
async function act(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  let answer, page;
  try {
    answer = await fetch(form.action, { method: "POST", body });
    page = parsed(await answer.text());
  } catch {
    return form.submit();
  }
  const again = page.getElementById("ask");
  if (again && dialog?.open) return open(again);
  if (!answer.redirected || new URL(answer.url).pathname !== location.pathname) return location.assign(answer.redirected ? answer.url : location.href);
  dialog?.open && dialog.close();
  show(page);
  morph(document.getElementById("toasts"), page.getElementById("toasts"));
  setTimeout(refresh, 900);
}

document.addEventListener("click", (event) => {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const target = event.target.closest("a[data-dialog],[data-close],[data-dismiss]");
  if (!target) return;
  if (target.matches("[data-dismiss]")) target.closest(".toast").remove();
  else if (target.matches("[data-close]")) {
    if (!dialog?.open) return;
    dialog.close();
  } else ask(target.href, target);
  event.preventDefault();
});

document.addEventListener("submit", (event) => {
  const form = event.target, by = event.submitter;
  if (by?.matches("[data-dialog]")) {
    event.preventDefault();
    const address = new URL(by.getAttribute("formaction") ?? form.action, location.href);
    address.search = new URLSearchParams(new FormData(form, by));
    ask(address, by);
  } else if (form.method === "post" && form.elements.back?.value === location.pathname + location.search) {
    event.preventDefault();
    act(form, by);
  }
});

document.addEventListener("input", ({ target }) => {
  const wanted = target.dataset?.mustBe;
  if (wanted) target.setCustomValidity(target.value === wanted ? "" : `Type ${wanted}`);
});
