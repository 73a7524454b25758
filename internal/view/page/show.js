const view = r => { const v = r && r._meta && r._meta["mcp-tools/view"]; return v && Object.hasOwn(views, v.kind) ? v : null; };
// again shows a result that a button brought, if it has a view.
const again = r => { if (view(r)) show(r); else note(brief(textOf(r), long)); };

// show writes a result: its view, or else its text and its pictures.
function show(r) {
  main.replaceChildren(); status.textContent = "";
  const pictures = list(r.content).filter(c => c && c.type === "image").slice(0, 10).map(c => picture(String(c.data), String(c.mimeType), "Picture of the result")).filter(Boolean);
  let v = view(r);
  try { if (v) views[v.kind](v, pictures); } catch (e) { v = null; main.replaceChildren(); }
  if (!v) {
    const text = textOf(r) || (pictures.length ? "" : "(no output)");
    main.append(...pictures);
    if (text) { const b = box("Result"); b.append(fold(el("pre", r.isError ? "bad" : ""), text)); main.append(b); }
  }
  size();
}

context({});
new ResizeObserver(size).observe(document.body);
ask("ui/initialize", {appInfo: {name: "mcp-tools", version: "1"}, appCapabilities: {availableDisplayModes: ["inline"]}, protocolVersion: "2026-01-26"}).then(r => {
  can = r.hostCapabilities || {};
  context(r.hostContext || {});
  tell("ui/notifications/initialized");
}, e => note(e.message));
