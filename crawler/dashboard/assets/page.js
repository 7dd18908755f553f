// The page works without this script, as one that reloads. With it the server sends the page whenever it has changed, and what
// is marked data-live is brought up to date in place: focus, selection and what is typed stay.
"use strict";
(() => {
  const policy = window.trustedTypes ? trustedTypes.createPolicy("curtsy", { createHTML: (text) => text }) : null;
  const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

  // become makes an element like another, changing as little as it can.
  const become = (old, fresh) => {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    const now = [...old.childNodes], then = [...fresh.childNodes];
    then.forEach((node, i) => {
      const was = now[i];
      if (!was) old.append(document.importNode(node, true));
      else if (was.nodeType !== node.nodeType || was.nodeName !== node.nodeName) was.replaceWith(document.importNode(node, true));
      else if (was.nodeType === Node.ELEMENT_NODE) become(was, node);
      else if (was.data !== node.data) was.data = node.data;
    });
    now.slice(then.length).forEach((node) => node.remove());
  };

  const hold = document.getElementById("hold");
  let held = false, latest = null;
  const show = () => {
    if (held || latest === null) return;
    const fresh = parse(latest);
    latest = null;
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(part.id);
      if (now) become(part, now);
    }
    if (document.getElementById("first") && !fresh.getElementById("first")) location.reload();
    document.documentElement.dataset.updates = String(Number(document.documentElement.dataset.updates || 0) + 1);
  };

  // Escape closes what asks whether one is sure.
  document.addEventListener("keydown", (e) => {
    const open = e.key === "Escape" && document.querySelector("details.sure[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  if (!document.querySelector("[data-live]") || !window.EventSource) return;
  if (hold) {
    hold.hidden = false;
    hold.addEventListener("click", () => {
      held = !held;
      hold.setAttribute("aria-pressed", String(held));
      show();
    });
  }
  let events = null;
  const listen = () => {
    if (events) return;
    events = new EventSource(location.pathname + location.search);
    events.onmessage = (e) => {
      latest = JSON.parse(e.data);
      show();
    };
  };
  const leave = () => {
    if (events) events.close();
    events = null;
  };
  // Who does not look costs nothing.
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : listen()));
  window.addEventListener("pagehide", leave);
  listen();
})();
