// Makes one element like another and keeps what is the same: so focus, scroll, what was typed and what is open stay.

/** Of two siblings that stand for the same thing. */
const keyOf = (node) => (node.nodeType === 1 ? node.id || node.dataset.id || "" : "");

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** What belongs to the person who looks, not to the page. */
const kept = (node, name) =>
  (name === "open" && /^(details|dialog)$/i.test(node.nodeName)) ||
  (/^(value|checked|selected)$/.test(name) && node.nodeName !== "BUTTON" && !/hidden/.test(node.type) && !untouched(node));

/** A field in which nobody has typed, nor is about to. */
const untouched = (node) => node.classList.contains("field") && node.value === node.defaultValue && node !== document.activeElement;

function attributes(node, wanted) {
  for (const { name } of [...node.attributes])
    if (!wanted.hasAttribute(name) && !kept(node, name)) node.removeAttribute(name);
  for (const { name, value } of wanted.attributes)
    if (node.getAttribute(name) !== value && !kept(node, name)) node.setAttribute(name, value);
}

export function morph(node, wanted) {
  if (node.isEqualNode(wanted)) return;
  if (node.nodeType !== 1) {
    node.nodeValue = wanted.nodeValue;
    return;
  }
  if (node.hasAttribute("data-keep")) return;
  attributes(node, wanted);
  const keyed = new Map([...node.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let at = node.firstChild;
  for (const child of [...wanted.childNodes]) {
    const key = keyOf(child);
    let found = key ? keyed.get(key) : at && !keyOf(at) && alike(at, child) ? at : null;
    if (found && !alike(found, child)) found = null;
    if (!found) node.insertBefore(document.importNode(child, true), at);
    else {
      if (found === at) at = at.nextSibling;
      else node.insertBefore(found, at);
      morph(found, child);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
