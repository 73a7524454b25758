views.output = v => {
  const head = el("header"), running = v.state === "running";
  const bad = !running && (v.exit_code || v.signal || v.state !== "exited");
  head.append(fold(el("h2", "mono"), "$ " + (v.command || "")));
  const how = running ? "running" : v.signal ? "ended by " + v.signal : v.state === "exited" ? "exit code " + v.exit_code : v.state;
  head.append(el("span", bad ? "bad" : "dim", join(how, Math.round((+v.seconds || 0) * 10) / 10 + " s")));
  if (v.process) {
    head.append(act("Stop", "process", {action: "kill", id: String(v.process), peek: true}, "Stopped", again));
    head.append(act("Refresh", "process", {action: "log", id: String(v.process)}, "Refresh", again));
  }
  main.append(head);
  let any = false;
  list(v.streams).forEach((s, i) => {
    if (!s.text) return;
    any = true;
    if (s.before) main.append(el("p", "dim", s.before + " bytes before this are left out"));
    const b = box(i ? "Errors" : "Output"), p = el("pre", i ? "err" : "");
    paint(p, String(s.text), list(s.colors)); b.append(p);
    if (i) main.append(el("p", "dim", "stderr"));
    main.append(b);
    b.scrollTop = b.scrollHeight;
  });
  if (!any) main.append(el("p", "dim", "no output"));
};

// paint writes text with the styles of its parts.
function paint(p, text, colors) {
  let at = 0;
  for (const c of colors) {
    const [from, to, style] = c;
    if (!(from >= at && to > from && to <= text.length)) continue;
    p.append(plain(text.slice(at, from)));
    p.append(el("span", (style & 8 ? "f" + (style & 7) : "") + (style & 16 ? " b" : "") + (style & 32 ? " u" : ""), text.slice(from, to)));
    at = to;
  }
  p.append(plain(text.slice(at)));
}

// An outline of a page in a browser, beside its picture.
views.snapshot = (v, pictures) => {
  const head = el("header"), at = el("div");
  at.append(fold(el("h2", "mono"), v.address || "about:blank"));
  at.append(el("div", "dim", join(v.tab && "tab " + v.tab + (v.tabs > 1 ? " of " + v.tabs : ""), ...list(v.notes).map(n => brief(n, 300)))));
  head.append(at);
  main.append(head);
  const shot = v.picture ? picture(String(v.picture), String(v.mime), "The page as the browser shows it") : pictures[0], o = box("Outline of the page");
  for (const line of String(v.outline || "").split("\n")) {
    const d = el("div", "l");
    const ref = /^(.{0,400}?)(\[(?:ref=)?e\d+\])(.*)$/.exec(line);
    if (ref && line.length <= long) d.append(plain(ref[1]), el("span", "f4", ref[2]), plain(ref[3])); else fold(d, line);
    o.append(d);
  }
  if (shot && v.outline) { const both = el("div", "beside even"); both.append(shot, o); main.append(both); }
  else main.append(shot || o);
};

