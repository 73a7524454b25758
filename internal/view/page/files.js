views.changes = v => {
  const files = list(v.files), head = el("header");
  head.append(el("h2", "", (v.undid ? "Undone: " : "") + files.length + (files.length === 1 ? " file" : " files")));
  if (v.undo) head.append(act(v.undid ? "Redo" : "Undo", "undo", {call: String(v.undo)}, v.undid ? "Redone" : "Undone"));
  main.append(head);
  for (const f of files) {
    const s = el("section"), b = box("Difference of " + f.name);
    s.append(el("h2", "mono", f.action + " " + (f.was ? f.was + " \u2192 " : "") + f.name));
    for (const line of String(f.diff || "").split("\n")) {
      if (!line) continue;
      b.append(fold(el("div", "l " + ({"+": "add", "-": "del", "@": "at"}[line[0]] || "")), line));
    }
    if (b.firstChild) s.append(b);
    if (f.cut) s.append(el("p", "dim", f.cut + " more lines"));
    main.append(s);
  }
};

views.history = v => {
  const u = el("ul", "rows"); u.setAttribute("aria-label", "Changes");
  for (const c of list(v.changes)) {
    const li = el("li"), d = el("div");
    d.append(el("div", "mono", (c.action || "") + " " + (c.file || "") + (list(c.others).length ? " and " + list(c.others).length + " more" : "")));
    d.append(el("div", "dim", [when(c.time), c.tool, c.by, c.undone ? "undone by " + c.undone : ""].filter(Boolean).join(", ")));
    if (c.command) d.append(fold(el("div", "mono dim"), c.command));
    li.append(d);
    if (c.undoable) li.append(act("Undo", "undo", {call: String(c.id)}, "Undone"));
    u.append(li);
  }
  main.append(u);
  if (!u.firstChild) note("There are no changes.");
  if (v.more) main.append(el("p", "dim", "There are older changes."));
};

