views.board = v => {
  main.append(fold(el("h2"), v.title || "Tasks"));
  const cols = el("div", "cols");
  for (const c of list(v.columns)) {
    const s = el("section");
    s.append(el("h2", "dim", c.name + " (" + list(c.cards).length + ")"));
    for (const k of list(c.cards)) s.append(card(k));
    cols.append(s);
  }
  main.append(cols);
  if (v.more) main.append(el("p", "dim", "There are more tasks."));
};

function card(k) {
  const d = el("div", "card" + (k.now ? " now" : ""));
  if (k.now) d.setAttribute("aria-current", "true");
  d.append(fold(el("div"), k.title));
  if (k.about) d.append(fold(el("div", "dim small"), k.about));
  if (k.label) d.append(el("span", "tag", brief(k.label, 60)));
  const n = Math.min(Math.max(+k.percent || 0, 0), 100);
  if (n) {
    const b = el("div", "bar"), done = el("div");
    b.setAttribute("role", "progressbar"); b.setAttribute("aria-valuenow", n); b.setAttribute("aria-label", "Progress");
    done.style.width = n + "%"; b.append(done); d.append(b);
  }
  return d;
}

views.jobs = v => {
  main.append(el("h2", "", "Scheduled jobs"));
  const u = el("ul", "rows");
  const refresh = async () => { const r = await call("Refresh", "cron", {action: "list"}); if (r) again(r); };
  const change = (label, action, id) => act(label, "cron", {action, id}, label, async r => { const said = textOf(r); await refresh(); note(brief(said, long)); });
  for (const j of list(v.jobs)) {
    const li = el("li"), d = el("div"), id = String(j.name), next = list(j.next);
    d.append(fold(el("div", "b"), id));
    d.append(fold(el("div"), j.work));
    d.append(fold(el("div", "dim"), join(j.schedule, j.zone)));
    if (j.paused) d.append(el("div", "dim", "paused"));
    else if (next.length) {
      const times = el("div", "dim small", "next ");
      times.append(el("span", "b", until(next[0])), " \u00b7 " + next.slice(0, 3).map(t => when(t, j.zone)).join(" \u00b7 "));
      d.append(times);
    } else d.append(el("div", "dim", "no further runs"));
    if (j.last) d.append(el("div", "small " + (j.last === "ok" || j.last === "running" ? "dim" : "bad"), join("last " + brief(j.last, 60), when(j.last_at, j.zone), j.failures > 1 && "failed " + j.failures + " times in a row")));
    li.append(d);
    const b = el("div", "row");
    b.append(change("Run now", "run", id), j.paused ? change("Resume", "resume", id) : change("Pause", "pause", id));
    li.append(b); u.append(li);
  }
  main.append(u);
  if (!u.firstChild) main.append(el("p", "dim", "There are no jobs."));
  if (v.more) main.append(el("p", "dim", v.more + " more jobs"));
  if (list(v.ended).length) main.append(fold(el("p", "dim"), "Ended: " + list(v.ended).join(", ")));
};

