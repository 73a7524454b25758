"use strict";
// The pages work without this script. It loads a page again when what it shows has changed.
(() => {
  const html = window.trustedTypes
    ? trustedTypes.createPolicy("console", { createHTML: (text) => text }) // only answers of this server
    : { createHTML: (text) => text };
  const base = document.body.dataset.base;
  if (!base) {
    // The page of a question leads to the session that is open in this browser.
    const open = localStorage.getItem("console");
    if (document.body.dataset.next && open && !document.querySelector("[role=alert]")) {
      fetch(open + "/events?of=probe", { method: "HEAD" }).then((r) => {
        if (r.ok) location.replace(open + "/" + document.body.dataset.next);
      }, () => {});
    }
    return;
  }
  localStorage.setItem("console", base);
  const live = document.getElementById("live");
  const say = (text, bad) => {
    live.textContent = text;
    live.classList.toggle("bad", Boolean(bad));
  };

  // typed reports whether a person is filling in a form of an element.
  const typed = (element) => [...element.querySelectorAll("input:not([type=hidden]), textarea, select")].some((field) =>
    field === document.activeElement || (field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.tagName !== "SELECT" && field.value !== field.defaultValue));

  // A click just after a question has gone was meant for what stood there before. Keys go by the focus, which stays.
  let moved = -1000;
  document.addEventListener("click", (event) => {
    if (event.detail > 0 && performance.now() - moved < 1000 && event.target.closest("main button")) {
      event.preventDefault();
      say("The page has just changed. Look again before you press a button.");
    }
  }, true);

  // replace puts the new content of an element in place, and keeps what is unfolded and has the focus.
  const replace = (id, page) => {
    const now = document.getElementById(id), next = page.getElementById(id);
    if (!now || !next || now.innerHTML === next.innerHTML) return true;
    if (typed(now)) return false;
    const all = (root) => [...root.querySelectorAll("details")];
    const key = (d, i) => d.id || i + d.querySelector("summary").textContent;
    const unfolded = new Set(all(now).map((d, i) => d.open ? key(d, i) : null));
    all(next).forEach((d, i) => { if (unfolded.has(key(d, i))) d.open = true; });
    const ids = (root) => [...root.querySelectorAll("article[aria-labelledby]")].map((a) => a.getAttribute("aria-labelledby"));
    const left = ids(next);
    if (ids(now).some((id, i) => left[i] !== id)) moved = performance.now();
    const focus = now.contains(document.activeElement) ? document.activeElement.id : "";
    now.replaceWith(document.adoptNode(next));
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    return true;
  };

  // A link to something folded unfolds it.
  const named = location.hash ? document.getElementById(location.hash.slice(1)) : null;
  if (named instanceof HTMLDetailsElement) named.open = true;

  let loading = false, again = false;
  const load = async () => {
    if (!document.body.dataset.of) return; // the answer to a form is no page that could be loaded again
    if (loading) { again = true; return; }
    loading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
      if (answer.status === 403) { say("You are logged out. Reload the page.", true); source.close(); return; }
      const page = new DOMParser().parseFromString(html.createHTML(await answer.text()), "text/html");
      const before = document.title;
      document.title = page.title;
      const whole = ["menu", "state", "main"].map((id) => replace(id, page)).every(Boolean);
      if (!whole) say("There is something new. Reload the page when you are done.");
      else if (before !== page.title) say(page.title);
      else say("");
    } catch {
      say("The console does not answer.", true);
    } finally {
      loading = false;
      if (again) { again = false; setTimeout(load, 1000); }
    }
  };

  let source;
  const listen = () => {
    source = new EventSource(base + "/events?of=" + encodeURIComponent(document.body.dataset.of));
    source.addEventListener("changed", load);
    source.addEventListener("ended", () => {
      source.close();
      say("The console has ended. Run mcp-tools ui for a new one, then open its link.", true);
    });
    let lost = false;
    source.addEventListener("error", () => {
      lost = true;
      say("The console does not answer. It may have ended: run mcp-tools ui for a new one.", true);
    });
    source.addEventListener("open", () => { if (lost) { lost = false; say(""); load(); } });
  };
  listen();
  // Browsers have few connections to a server: a page that is not seen gives its one back.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) { listen(); load(); }
  });
})();
