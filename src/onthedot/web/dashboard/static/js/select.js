// Picking many rows: all at once, a range with shift, and how many are picked. form[data-select] holds the rows.
const boxes = (form) => [...form.querySelectorAll("[data-row] input[type=checkbox]")];

function told(form) {
  const all = boxes(form), picked = all.filter((box) => box.checked);
  for (const box of all) box.closest("[data-row]").classList.toggle("sel", box.checked);
  for (const place of form.querySelectorAll("[data-count]")) place.textContent = picked.length.toLocaleString("en");
  for (const place of form.querySelectorAll("[data-names]")) place.textContent = picked.map((box) => box.value).join(", ");
  const whole = form.querySelector("[data-all]");
  if (whole) {
    whole.checked = picked.length > 0 && picked.length === all.length;
    whole.indeterminate = picked.length > 0 && picked.length < all.length;
  }
}

for (const form of document.querySelectorAll("form[data-select]")) {
  let last = null;
  form.addEventListener("click", ({ target, shiftKey }) => {
    if (target.matches("[data-none]")) for (const box of boxes(form)) box.checked = false;
    else if (target.matches("[data-all]")) for (const box of boxes(form)) box.checked = target.checked;
    else if (target.matches("[data-row] input[type=checkbox]")) {
      const all = boxes(form), [from, to] = [all.indexOf(last), all.indexOf(target)].sort((a, b) => a - b);
      if (shiftKey && last) for (const box of all.slice(from, to + 1)) box.checked = target.checked;
      last = target;
    } else return;
    told(form);
  });
  document.addEventListener("onthedot:shown", () => told(form));
  told(form);
}
