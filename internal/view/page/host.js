// Messages with the host: JSON-RPC. Only the parent is heard.
const main = document.getElementById("m"), status = document.getElementById("s"), root = document.documentElement;
const waiting = new Map(); let last = 0, can = {}, theme = null, input = null;
const post = m => window.parent.postMessage(Object.assign({jsonrpc: "2.0"}, m), "*");
const ask = (method, params) => new Promise((ok, no) => { const id = ++last; waiting.set(id, [ok, no]); post({id, method, params}); });
const tell = (method, params) => post({method, params: params || {}});
addEventListener("message", e => {
  const m = e.data;
  if (e.source !== window.parent || !m || m.jsonrpc !== "2.0") return;
  if (m.method === undefined) {
    const w = waiting.get(m.id); waiting.delete(m.id);
    if (w) m.error ? w[1](new Error(String(m.error.message || "it failed"))) : w[0](m.result || {});
    return;
  }
  const p = m.params || {};
  switch (m.method) {
  case "ui/notifications/tool-input": input = p.arguments || null; if (!main.firstChild) note("Waiting for the result."); break;
  case "ui/notifications/tool-result": show(p); break;
  case "ui/notifications/tool-cancelled": note("The call was cancelled."); break;
  case "ui/notifications/host-context-changed": context(p); break;
  case "ui/resource-teardown": case "ping": if (m.id !== undefined) post({id: m.id, result: {}}); break;
  default: if (m.id !== undefined) post({id: m.id, error: {code: -32601, message: "no such method"}});
  }
});

// context follows the host: its theme, and its variables without addresses.
function context(c) {
  if (c.theme) theme = c.theme;
  root.dataset.theme = theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const v = c.styles && c.styles.variables || {};
  for (const name of Object.keys(v)) if (/^--[a-z0-9-]+$/.test(name) && typeof v[name] === "string" && !/url\(/i.test(v[name])) root.style.setProperty(name, v[name]);
}

let sent = 0;
// size reports the height of the page when it has changed.
function size() {
  requestAnimationFrame(() => {
    const h = Math.ceil(document.body.getBoundingClientRect().height);
    if (h !== sent) { sent = h; tell("ui/notifications/size-changed", {width: Math.ceil(root.clientWidth), height: h}); }
  });
}

