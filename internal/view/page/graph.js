// A graph is drawn in the page: things that are related stand near each other. It can be moved and made larger.
views.graph = v => {
  const nodes = list(v.nodes).slice(0, 80).map((n, i) => ({n, x: 260 * Math.cos(i * 2.4) * Math.sqrt((i + 1) / 80), y: 260 * Math.sin(i * 2.4) * Math.sqrt((i + 1) / 80), dx: 0, dy: 0}));
  const byId = new Map(nodes.map(o => [o.n.id, o])), edges = list(v.edges).slice(0, 200).map(e => ({e, a: byId.get(e.from), b: byId.get(e.to)})).filter(e => e.a && e.b && e.a !== e.b);
  main.append(fold(el("h2"), (v.from ? "Connections of " + v.from : v.query ? "Knowledge: " + v.query : "Knowledge") + " (" + nodes.length + ")"));
  if (!nodes.length) { main.append(fold(el("p", "dim"), v.note || "Nothing is known.")); return; }
  settle(nodes, edges);
  const W = Math.min(Math.max(main.clientWidth - 2, 260), 900), H = Math.round(Math.min(440, Math.max(330, W * .75))), svg = draw("svg", {viewBox: "0 0 " + W + " " + H, role: "group", tabindex: 0, "aria-label": "Graph. Arrow keys move it, plus and minus change its size."}), all = draw("g", {}), frame = el("div", "box draw");
  const xs = nodes.map(o => o.x), ys = nodes.map(o => o.y), mid = (a, b) => (a + b) / 2;
  const fit = Math.min(1.6, (W - 130) / Math.max(Math.max(...xs) - Math.min(...xs), 60), (H - 70) / Math.max(Math.max(...ys) - Math.min(...ys), 60));
  let k = fit, tx = W / 2 - mid(Math.max(...xs), Math.min(...xs)) * k, ty = H / 2 - mid(Math.max(...ys), Math.min(...ys)) * k;
  const move = () => {
    tx = Math.min(Math.max(tx, -2 * W), 3 * W); ty = Math.min(Math.max(ty, -2 * H), 3 * H);
    for (const o of nodes) o.g.setAttribute("transform", "translate(" + (o.x * k + tx) + " " + (o.y * k + ty) + ")");
    for (const {a, b, l, t} of edges) {
      l.setAttribute("x1", a.x * k + tx); l.setAttribute("y1", a.y * k + ty); l.setAttribute("x2", b.x * k + tx); l.setAttribute("y2", b.y * k + ty);
    }
    arrange();
  };
  // arrange puts names and words of relations where they cover nothing; one without room is not shown until the graph is larger.
  const arrange = () => {
    const wide = edges.map(e => e.t.textContent && e.t.getComputedTextLength()), taken = nodes.map(o => [o.x * k - 8, o.y * k - 8, o.x * k + 8, o.y * k + 8]);
    const place = (t, wide, high, points) => {
      const free = points.map(([x, y]) => [x, y, [x - wide / 2, y - high, x + wide / 2, y + high / 4]]).find(([, , r]) => !taken.some(o => r[0] < o[2] && o[0] < r[2] && r[1] < o[3] && o[1] < r[3]));
      t.setAttribute("visibility", free ? "visible" : "hidden");
      if (free) taken.push(free[2]);
      return free;
    };
    for (const o of [...nodes].sort((a, b) => !!b.n.hit - !!a.n.hit)) {
      const x = o.x * k, y = o.y * k, side = o.wide / 2 + 12;
      const at = place(o.t, o.wide, 13, [[x, y + 21], [x, y - 12], [x + side, y + 4], [x - side, y + 4]]);
      if (at) { o.t.setAttribute("x", at[0] - x); o.t.setAttribute("y", at[1] - y); }
    }
    for (const [i, {a, b, t}] of edges.entries()) {
      const along = p => [(a.x + (b.x - a.x) * p) * k, (a.y + (b.y - a.y) * p) * k - 3];
      const at = wide[i] && place(t, wide[i], 10, [.5, .42, .58, .34, .66, .26, .74].map(along));
      if (at) { t.setAttribute("x", at[0] + tx); t.setAttribute("y", at[1] + ty); }
    }
  };
  const zoom = (by, x, y) => { const to = Math.min(Math.max(k * by, .2), 6); tx = x - (x - tx) * to / k; ty = y - (y - ty) * to / k; k = to; move(); };
  const kinds = [...new Set(nodes.map(o => String(o.n.type || "")))], color = o => "var(--c" + kinds.indexOf(String(o.n.type || "")) % 10 + ")";
  for (const e of edges) {
    e.l = draw("line", {stroke: "var(--fg2)", "stroke-opacity": .5, "stroke-width": 1.2});
    e.t = draw("text", {"text-anchor": "middle", style: "font-size:10px"}, edges.length > 40 ? "" : brief(e.e.label, 24));
    all.append(e.l, e.t);
  }
  const about = el("div", "small"); about.setAttribute("aria-live", "polite");
  const choose = o => {
    for (const p of nodes) p.c.setAttribute("stroke", p === o ? "var(--fg)" : "var(--bg)");
    for (const e of edges) { const on = e.a === o || e.b === o; e.l.setAttribute("stroke-opacity", on ? 1 : .3); if (on) e.t.textContent = plain(brief(e.e.label, 24)); }
    arrange();
    about.replaceChildren();
    const head = el("header"), d = el("div");
    d.append(fold(el("h2"), o.n.name), fold(el("div", "dim"), join(o.n.type, list(o.n.aliases).join(", "))));
    head.append(d, act("Connections", "knowledge_graph_search", {from: String(o.n.id)}, "Connections", again));
    about.append(head);
    if (o.n.about) about.append(fold(el("p"), o.n.about));
    for (const p of Object.keys(o.n.facts || {}).slice(0, 20)) about.append(fold(el("div"), p + ": " + o.n.facts[p]));
    for (const e of edges) if (e.a === o || e.b === o) about.append(fold(el("div", "dim"), e.a.n.name + " " + e.e.label + " " + e.b.n.name));
    size();
  };
  for (const o of nodes) {
    o.g = draw("g", {role: "button", tabindex: 0, "aria-label": plain(join(brief(o.n.name, 100), o.n.type)), style: "cursor:pointer"});
    o.c = draw("circle", {r: o.n.hit ? 9 : 6, style: "fill:" + color(o), stroke: "var(--bg)", "stroke-width": 2});
    o.t = draw("text", {"text-anchor": "middle", style: "fill:var(--fg)" + (o.n.hit ? ";font-weight:600" : "")}, brief(o.n.name, 22));
    o.g.append(o.c, o.t);
    o.g.onclick = () => choose(o);
    o.g.onkeydown = e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(o); } };
    all.append(o.g);
  }
  let from = null;
  svg.onpointerdown = e => { from = [e.clientX, e.clientY]; };
  svg.onpointermove = e => {
    if (!from || !e.buttons) return;
    const s = W / svg.clientWidth;
    tx += (e.clientX - from[0]) * s; ty += (e.clientY - from[1]) * s; from = [e.clientX, e.clientY]; move();
  };
  svg.onpointerup = svg.onpointerleave = () => { from = null; };
  svg.addEventListener("wheel", e => { if (!e.ctrlKey && !e.metaKey) return; e.preventDefault(); const r = svg.getBoundingClientRect(), s = W / r.width; zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2, (e.clientX - r.left) * s, (e.clientY - r.top) * s); }, {passive: false});
  svg.onkeydown = e => {
    const by = {ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40]}[e.key];
    if (by) { e.preventDefault(); tx += by[0]; ty += by[1]; move(); }
    if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1.2 : 1 / 1.2, W / 2, H / 2);
  };
  svg.style.touchAction = "none"; svg.style.cursor = "grab";
  svg.append(all); frame.append(svg);
  const bar = el("div", "row");
  for (const [label, name, by] of [["+", "Larger", 1.3], ["\u2212", "Smaller", 1 / 1.3]]) { const b = button(label, () => zoom(by, W / 2, H / 2)); b.setAttribute("aria-label", name); bar.append(b); }
  for (const name of kinds.filter(Boolean).slice(0, 10)) { const t = el("span", "small"), dot = el("span", "dot"); dot.style.background = "var(--c" + kinds.indexOf(name) % 10 + ")"; t.append(dot, plain(brief(name, 40))); bar.append(t); }
  main.append(frame, bar, about);
  for (const o of nodes) o.wide = o.t.getComputedTextLength(); // a text has a length in the page only
  move();
  if (v.more) main.append(el("p", "dim", "There is more than is drawn."));
  const start = nodes.find(o => o.n.name === v.from);
  if (start) choose(start);
};

// settle moves the nodes until they stand well: all push each other away, relations pull. It ends after a fixed time.
function settle(nodes, edges) {
  for (let step = 0; step < 250; step++) {
    const heat = 12 * (1 - step / 250);
    for (const a of nodes) {
      a.dx = -a.x * .02; a.dy = -a.y * .02;
      for (const b of nodes) {
        const x = a.x - b.x, y = a.y - b.y, d = Math.max(x * x + y * y, 1);
        if (a !== b) { a.dx += x / d * 900; a.dy += y / d * 900; }
      }
    }
    for (const {a, b} of edges) {
      const x = b.x - a.x, y = b.y - a.y, d = Math.hypot(x, y) || 1, f = (d - 70) * .06;
      a.dx += x / d * f; a.dy += y / d * f; b.dx -= x / d * f; b.dy -= y / d * f;
    }
    for (const n of nodes) { const d = Math.hypot(n.dx, n.dy) || 1, m = Math.min(d, heat); n.x += n.dx / d * m; n.y += n.dy / d * m; }
  }
}

