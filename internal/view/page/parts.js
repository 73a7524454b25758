// All text is written by textContent. Characters that hide or move others are shown by their numbers.
const plain = s => String(s == null ? "" : s).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udfff]?/g,
  c => "<U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");
function el(name, cls, text) { const e = document.createElement(name); if (cls) e.className = cls; if (text !== undefined) e.textContent = plain(text); return e; }
const note = text => { status.textContent = plain(text); size(); };
const list = v => Array.isArray(v) ? v.slice(0, 5000) : []; // the server sends no longer ones
const join = (...parts) => parts.filter(Boolean).join(" \u00b7 ");
const brief = (text, n) => { text = String(text == null ? "" : text); return text.length > n ? text.slice(0, n - 1) + "\u2026" : text; };
const long = 2000;
// fold shows the beginning of a long text, and all of it when the person asks for it.
function fold(e, text) {
  text = String(text == null ? "" : text);
  if (text.length <= long) { e.textContent = plain(text); return e; }
  e.textContent = plain(text.slice(0, 300)) + " ";
  const b = button("Show all " + text.length + " characters", () => { e.textContent = plain(text); size(); });
  e.append(b);
  return e;
}
function box(label) { const b = el("div", "box"); b.tabIndex = 0; b.setAttribute("role", "region"); b.setAttribute("aria-label", plain(label)); return b; }
function button(label, press) { const b = el("button", "", label); b.type = "button"; b.onclick = press; return b; }

// act returns a button that calls a tool. The call goes to the server like one of the model, with the same approvals.
function act(label, tool, args, done, then) {
  const b = button(label, async () => {
    b.disabled = true;
    const r = await call(label, tool, args);
    b.disabled = !!r && label !== done;
    if (!r) return;
    b.textContent = done;
    if (then) then(r); else note(brief(textOf(r), long));
  });
  return can.serverTools ? b : el("span");
}

// call calls a tool for the person, and returns the result; after a failure it says why, and returns nothing.
async function call(label, tool, args) {
  note(label + ": asked the server. If a person has to approve it, the client or the operator asks.");
  try {
    const r = await ask("tools/call", {name: tool, arguments: args});
    if (r.isError) { note(brief(textOf(r), long) || "It failed."); return null; }
    note("");
    if (can.updateModelContext) ask("ui/update-model-context", {content: [{type: "text", text: "The person used the button " + label + " of a result: " + tool + " " + plain(brief(JSON.stringify(args), 300))}]}).catch(() => {});
    return r;
  } catch (e) { note(e.message); return null; }
}
const textOf = r => list(r.content).filter(c => c && c.type === "text").map(c => c.text).join("\n");

// picture returns an image of data in the result; other addresses are not loaded.
function picture(data, mime, about) {
  if (!/^image\/(png|jpeg|webp|gif)$/.test(mime) || !/^[A-Za-z0-9+/=]+$/.test(data)) return null;
  const i = el("img");
  i.alt = plain(about); i.onload = size; i.onerror = () => { i.remove(); size(); };
  i.src = "data:" + mime + ";base64," + data;
  return i;
}

// when writes a time in words, in a zone if the browser knows it.
function when(t, zone) {
  const d = new Date(t), o = {weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit"};
  if (isNaN(d)) return "";
  try { return d.toLocaleString(undefined, zone ? Object.assign({timeZone: zone, timeZoneName: "short"}, o) : o); } catch (e) { return d.toLocaleString(undefined, o); }
}
function until(t) {
  const s = (new Date(t) - Date.now()) / 1000, a = Math.abs(s);
  if (isNaN(s)) return "";
  const [n, unit] = a < 90 ? [a, "s"] : a < 5400 ? [a / 60, "min"] : a < 129600 ? [a / 3600, "h"] : [a / 86400, "days"];
  return s < 0 ? Math.round(n) + " " + unit + " ago" : "in " + Math.round(n) + " " + unit;
}

// draw returns an element of a drawing.
function draw(name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const a of Object.keys(attributes || {})) e.setAttribute(a, attributes[a]);
  if (text !== undefined) e.textContent = plain(text);
  return e;
}

// The views by their kind. Each writes what it shows into main.
const views = {};

