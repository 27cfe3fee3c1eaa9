// Buttons that copy what went wrong; where the browser has no clipboard for us there are none.
const copies = () => document.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = !navigator.clipboard));
copies();
document.addEventListener("onthedot:shown", copies);
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("[data-copy]")) return;
  await navigator.clipboard.writeText(document.getElementById(target.dataset.copy).textContent);
  target.textContent = "Copied";
});
