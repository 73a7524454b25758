views.memories = v => {
  const hits = list(v.hits);
  main.append(fold(el("h2"), hits.length + (hits.length === 1 ? " memory" : " memories") + (v.query ? " for \u201c" + v.query + "\u201d" : "")));
  const words = String(v.query || "").toLowerCase().match(/[\p{L}\p{N}]{3,40}/gu) || [];
  const u = el("ul", "rows");
  for (const h of hits) {
    const li = el("li"), d = el("div"), text = el("div", "all");
    d.append(fold(el("div", "b"), list(h.headings).join(" \u203a ") || h.path));
    d.append(fold(el("div", "dim small"), join(h.path + " " + h.from + "\u2013" + h.to, when(h.updated), h.shared && "shared", h.category)));
    d.append(marked(el("p"), brief(h.snippet, long), words.slice(0, 20)));
    li.append(d, act("Read", "memory_get", {path: String(h.path)}, "Read again", r => { text.replaceChildren(); const b = box("Text of " + h.path); b.append(fold(el("pre"), textOf(r))); text.append(b); size(); }));
    d.append(text);
    u.append(li);
  }
  main.append(u);
  if (!hits.length) main.append(fold(el("p", "dim"), v.note || "No memory matches."));
  if (v.more) main.append(el("p", "dim", "There are more."));
};

// marked writes a text in which the given words are marked.
function marked(e, text, words) {
  const low = text.toLowerCase();
  if (low.length !== text.length) { e.textContent = plain(text); return e; }
  for (let at = 0; at < text.length;) {
    let next = text.length, length = 0;
    for (const w of words) { const i = low.indexOf(w, at); if (i >= 0 && (i < next || i === next && w.length > length)) { next = i; length = w.length; } }
    e.append(plain(text.slice(at, next)));
    if (length) e.append(el("mark", "", text.slice(next, next + length)));
    at = next + length;
  }
  return e;
}

