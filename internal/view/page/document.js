// Pages of a document, with an outline of what is shown and the way to other pages.
views.document = (v, pictures) => {
  const pages = list(v.pages), head = el("header"), t = el("div"), unit = v.unit || "part";
  t.append(fold(el("h2"), v.title || v.name || "Document"));
  t.append(fold(el("div", "dim small"), join(v.title && v.name, v.format && String(v.format).toUpperCase(), v.unit && v.total + " " + unit + (v.total === 1 ? "" : "s"))));
  head.append(t);
  const source = Object.assign({}, input && (input.path || input.url) ? input : (v.url ? {url: v.url} : {path: v.path}));
  const go = (label, pages, offset) => button(label, async () => {
    const args = Object.assign({}, source, {pages: String(pages)});
    delete args.offset; if (offset) args.offset = offset;
    const r = await call(label, "read_document", args); if (r) again(r);
  });
  if (can.serverTools && (v.path || v.url) && v.unit && v.total > 1 && pages.length) {
    const first = pages[0].number, end = pages[pages.length - 1].number, w = el("div", "row"), n = el("input");
    n.type = "number"; n.min = 1; n.max = v.total; n.value = first; n.setAttribute("aria-label", plain("Number of the " + unit));
    if (first > 1) w.append(go("Previous", first - 1));
    w.append(n, button("Go", async () => { const k = Math.round(n.value); if (k >= 1 && k <= v.total) go("Go", k).onclick(); }));
    if (end < v.total) w.append(go("Next", end + 1));
    head.append(w);
  }
  main.append(head);
  const body = box("Text"), outline = el("nav"); body.classList.add("doc"); outline.setAttribute("aria-label", "Outline");
  const entry = (text, level, target) => {
    if (outline.childNodes.length >= 60) return;
    const b = button(brief(text, 120), () => { body.scrollTop = target.offsetTop - body.offsetTop; });
    b.style.paddingLeft = .2 + .7 * (level - 1) + "rem"; outline.append(b);
  };
  for (const p of pages) {
    if (v.unit) {
      const h = el("div", "pg dim small", join(unit + " " + p.number + " of " + v.total, p.name, p.ocr && "recognised from a picture", p.continued && "continued"));
      body.append(h);
      if (p.name || pages.length > 1) entry(p.name || unit + " " + p.number, 1, h);
    }
    markdown(body, String(p.text || ""), (h, level) => entry(h.textContent, level + (pages.length > 1 ? 1 : 0), h));
  }
  if (outline.childNodes.length > 1) { const both = el("div", "beside"); both.append(outline, body); main.append(both); } else main.append(body);
  main.append(...pictures);
  if (v.offset && can.serverTools && pages.length) main.append(go("Read on", v.unit ? pages[pages.length - 1].number : "", v.offset));
};

// table returns a table of texts. Numbers stand at the right.
function table(head, rows) {
  const t = el("table"), tr = el("tr");
  for (const h of head) { const th = el("th", "", brief(h, 300)); th.scope = "col"; tr.append(th); }
  t.append(tr);
  for (const r of rows) {
    const tr = el("tr");
    for (const c of r) tr.append(fold(el("td", String(c).length < 40 && /^[\s$\u20ac\u00a3+\u2212-]*[\d.,\u202f\u00a0 ]+ ?%?$/.test(c) && /\d/.test(c) ? "n" : ""), c));
    t.append(tr);
  }
  return t;
}

// words returns the text of Markdown in a line: without marks, with addresses of links behind their names.
const words = s => s.replace(/!?\[([^\]]{0,400})\]\(<?([^)\s>]{0,400})>?[^)]{0,200}\)/g, (_, name, to) => !name || name === to ? to : /^[a-z]+:/i.test(to) ? name + " (" + to + ")" : name)
  .replace(/\*\*([^*]{1,400})\*\*/g, "$1").replace(/(^|[\s(])[*_]([^*_]{1,400})[*_](?=[\s.,;:)]|$)/g, "$1$2").replace(/`([^`]{1,400})`/g, "$1").replace(/\\([!-/:-@[-`{-~])/g, "$1").replace(/<br ?\/?>/g, "\n");
const cells = l => l.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map(c => words(c.trim()));

// markdown writes the blocks of Markdown: headings, lists, tables, code and paragraphs.
function markdown(to, text, heading) {
  const lines = text.split("\n"), add = e => to.append(e);
  for (let i = 0; i < lines.length;) {
    const l = lines[i], h = /^(#{1,6}) +(.*)$/.exec(l), fence = /^ {0,3}(```+|~~~+)/.exec(l);
    if (!l.trim()) { i++; continue; }
    if (h) {
      const e = fold(el("h3", "h" + h[1].length), words(h[2].trim().replace(/ #{1,6}$/, "")));
      add(e); heading(e, h[1].length); i++; continue;
    }
    if (fence) {
      const code = [];
      for (i++; i < lines.length && !lines[i].trim().startsWith(fence[1]); i++) code.push(lines[i]);
      i++; add(fold(el("pre", "box"), code.join("\n"))); continue;
    }
    if (l.startsWith("|") && /^\|?[\s:|-]+\|?$/.test(lines[i + 1] || "-x")) {
      const head = cells(l), rows = [], w = el("div", "wide");
      for (i += 2; i < lines.length && lines[i].startsWith("|"); i++) rows.push(cells(lines[i]));
      w.append(table(head, rows.slice(0, 500))); add(w); continue;
    }
    const item = /^( *)(?:[-*+]|(\d{1,9}[.)])) +(.*)$/.exec(l);
    if (item) {
      const u = el("ul");
      for (let m; i < lines.length && (m = /^( *)(?:[-*+]|(\d{1,9}[.)])) +(.*)$/.exec(lines[i])); i++) {
        const li = fold(el("li"), (m[2] || "\u2022") + " " + words(m[3]));
        li.style.marginLeft = Math.min(m[1].length, 12) / 2 + "rem"; u.append(li);
      }
      add(u); continue;
    }
    const para = [l];
    for (i++; i < lines.length && lines[i].trim() && !/^(#{1,6} |\||```|~~~| *[-*+] | *\d+[.)] )/.test(lines[i]); i++) para.push(lines[i]);
    if (/^ {0,3}([-*_] *){3,}$/.test(l)) continue;
    const p = fold(el("p"), words(para.join("\n"))); p.style.whiteSpace = "pre-line"; add(p);
  }
}

