// Checks a trigger as it is typed; reads a file into its field; arrows move among the ticks of a chart.
const forms = document.querySelectorAll("form[data-preview]");
for (const form of forms) {
  const box = form.querySelector("#preview"), field = form.querySelector("input[name=trigger]"), save = form.querySelector("[data-save]");
  let timer = 0, asked = 0;
  const check = async () => {
    const mine = ++asked, url = new URL(form.dataset.preview, location.href);
    for (const name of ["trigger", "tz", "gap", "fold", "name"]) {
      const at = form.querySelector(`input[name=${name}],select[name=${name}]`);
      if (at?.value) url.searchParams.set(name, at.value);
    }
    const answer = await fetch(url, { headers: { "x-fragment": "1" } }).catch(() => null);
    if (mine !== asked || !answer?.ok) return;
    box.innerHTML = await answer.text();
    const wrong = box.querySelector("[data-wrong]");
    field.setAttribute("aria-invalid", wrong ? "true" : "false");
    save?.toggleAttribute("data-off", Boolean(wrong));
    if (save) save.disabled = Boolean(wrong);
  };
  form.addEventListener("input", (event) => {
    if (!["trigger", "tz", "name"].includes(event.target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(check, 150);
  });
  form.addEventListener("change", (event) => ["gap", "fold"].includes(event.target.name) && check());
  form.addEventListener("click", (event) => {
    const put = event.target.closest("[data-put]");
    if (!put) return;
    event.preventDefault();
    field.value = put.value;
    field.focus();
    check();
  });
}
for (const each of document.querySelectorAll("[data-scripted]")) each.hidden = false;
document.addEventListener("change", async (event) => {
  const into = event.target.dataset?.into, file = event.target.files?.[0];
  if (into && file) document.getElementById(into).value = await file.text();
});
document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], here = event.target.closest?.("svg.ticks a");
  if (!step || !here) return;
  const all = [...here.ownerSVGElement.querySelectorAll("a")], next = all[all.indexOf(here) + step];
  if (next) { event.preventDefault(); next.focus(); }
});
