// A chart answers to the pointer and to arrow keys: it shows the values there. The names of series turn them on and off.
views.chart = v => {
  const series = list(v.series).map((s, i) => ({name: s.name || v.y_title || "Series " + (i + 1), values: list(s.values), x: list(s.x), color: "var(--c" + i % 10 + ")", dashed: i >= 10}));
  if (series.length === 1) v = Object.assign({}, v, {y_title: v.y_title || list(v.series)[0].name});
  const labels = list(v.labels), hidden = new Set(), pie = v.chart === "pie";
  if (v.title) main.append(el("h2", "", v.title));
  const legend = el("div", "row"), frame = el("div", "draw"), tip = el("div", "tip small");
  (pie ? labels : series.map(s => s.name)).forEach((name, i) => {
    if (!pie && series.length === 1) return;
    const dot = el("span", "dot"), b = button("", () => { hidden.has(i) ? hidden.delete(i) : hidden.add(i); b.setAttribute("aria-pressed", !hidden.has(i)); paintChart(); });
    dot.style.background = "var(--c" + i % 10 + ")"; b.append(dot, plain(brief(name, 80))); b.setAttribute("aria-pressed", "true"); legend.append(b);
  });
  frame.tabIndex = 0; frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", plain((v.title || "Chart") + ". Arrow keys read the values."));
  frame.append(tip); main.append(frame, legend);
  let shape = null, at = -1;
  const point = i => {
    at = i; tip.hidden = i < 0 || !shape; if (shape) shape.mark(i);
    if (tip.hidden) return;
    tip.replaceChildren(...shape.about(i));
    const x = shape.place(i), w = tip.offsetWidth, W = frame.clientWidth;
    tip.style.transform = "translate(" + Math.max(0, Math.min(x[0] + 12 + w > W ? x[0] - w - 12 : x[0] + 12, W - w)) + "px," + Math.max(0, x[1] - 10) + "px)";
  };
  function paintChart() {
    if (frame.lastChild !== tip) frame.lastChild.remove();
    shape = (pie ? pieChart : v.chart === "scatter" ? scatterChart : xyChart)(v, series, labels, hidden, Math.max(frame.clientWidth, 240));
    shape.svg.onpointermove = shape.svg.onpointerdown = e => { const r = shape.svg.getBoundingClientRect(); point(shape.nearest(e.clientX - r.left, e.clientY - r.top)); };
    shape.svg.onpointerleave = () => point(-1);
    frame.append(shape.svg); point(-1);
  }
  frame.onkeydown = e => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (e.key === "Escape") point(-1);
    if (!step || !shape.count) return;
    e.preventDefault(); point((Math.max(at, step < 0 ? 0 : -1) + step + shape.count) % shape.count);
  };
  frame.onblur = () => point(-1);
  let width = frame.clientWidth;
  new ResizeObserver(() => { if (frame.clientWidth !== width) { width = frame.clientWidth; paintChart(); } }).observe(frame);
  paintChart();
  main.append(numbers(v, series, labels));
  if (v.file) main.append(el("p", "dim small mono", v.file));
};

const amount = n => n == null ? "\u2013" : Math.abs(n) >= 1e12 || n && Math.abs(n) < 1e-3 ? String(+n.toPrecision(6)) : (+n).toLocaleString(undefined, {maximumFractionDigits: 6});
// axis returns round steps that cover a range.
function axis(from, to, n) {
  if (from === to) { const room = Math.abs(from) / 10 || 1; from -= room; to += room; }
  const rough = (to - from) / n, size = 10 ** Math.floor(Math.log10(rough)), step = size * [1, 2, 2.5, 5, 10].find(m => m * size >= rough * .999999);
  const all = [];
  from = Math.floor(from / step + 1e-9) * step; to = Math.ceil(to / step - 1e-9) * step;
  for (let k = from; k < to + step / 2 && all.length < 50; k += step) all.push(Math.abs(k) < step / 1e6 ? 0 : +k.toPrecision(12));
  return {from, to, all};
}
const short = n => Math.abs(n) >= 1e4 || n && Math.abs(n) < 1e-3 ? (Math.abs(n) < 1e15 && Math.abs(n) >= 1e-3 ? n.toLocaleString("en", {notation: "compact", maximumFractionDigits: 2}) : n.toExponential(1)) : amount(n);

// plot draws the y axis and returns the drawing with its measures.
function plot(v, W, ys) {
  const H = Math.round(Math.min(380, Math.max(220, W * .5))), svg = draw("svg", {viewBox: "0 0 " + W + " " + H, height: H});
  const left = 12 + 7 * Math.max(...ys.all.map(y => short(y).length)) + (v.y_title ? 16 : 0), right = W - 14, top = 12, bottom = H - (v.x_title ? 44 : 26);
  const y = n => bottom - (n - ys.from) / (ys.to - ys.from) * (bottom - top);
  for (const k of ys.all) {
    svg.append(draw("line", {x1: left, x2: right, y1: y(k), y2: y(k), stroke: "var(--line)", "stroke-width": k === 0 ? 1.5 : .7}));
    svg.append(draw("text", {x: left - 6, y: y(k) + 4, "text-anchor": "end"}, short(k)));
  }
  if (v.y_title) svg.append(draw("text", {x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + (top + bottom) / 2 + ") rotate(-90)"}, brief(v.y_title, 40)));
  if (v.x_title) svg.append(draw("text", {x: (left + right) / 2, y: H - 6, "text-anchor": "middle"}, brief(v.x_title, 60)));
  return {svg, H, left, right, top, bottom, y};
}
function line(name, value, color) {
  const d = el("div"), dot = el("span", "dot");
  if (color) { dot.style.background = color; d.append(dot); }
  d.append(plain(brief(name, 80)) + ": ", el("span", "b", value));
  return d;
}

function xyChart(v, series, labels, hidden, W) {
  const shown = series.filter((s, i) => !hidden.has(i)), n = labels.length, bars = v.chart === "bar", stacked = v.stacked && v.chart !== "line";
  const ends = []; // from and to of each value, which is on top of others if they are stacked
  let low = Infinity, high = -Infinity;
  const up = Array(n).fill(0), down = Array(n).fill(0);
  shown.forEach(s => ends.push(labels.map((_, i) => {
    const k = s.values[i];
    if (typeof k !== "number") return null;
    const pile = k < 0 ? down : up, from = stacked ? pile[i] : 0, to = from + k;
    pile[i] = to; low = Math.min(low, to); high = Math.max(high, to);
    return [from, to];
  })));
  if (low > high) low = high = 0;
  if (v.chart !== "line" || low > 0 && low < high / 2) { low = Math.min(low, 0); high = Math.max(high, 0); }
  const ys = axis(low, high, 5), p = plot(v, W, ys), slot = (p.right - p.left) / Math.max(n, 1), times = list(v.places).length === n ? v.places : null;
  const x = i => bars ? p.left + (i + .5) * slot : times ? p.left + times[i] * (p.right - p.left) : n < 2 ? (p.left + p.right) / 2 : p.left + i * (p.right - p.left) / (n - 1);
  const room = 7.5 * Math.min(16, Math.max(1, ...labels.map(l => String(l).length))) + 10;
  let free = -Infinity;
  for (let i = 0; i < n; i++) {
    if (x(i) < free || x(i) > p.right + 1) continue;
    const text = brief(labels[i], 16), half = text.length * 3.3, end = x(i) + half > W;
    p.svg.append(draw("text", {x: end ? W : Math.max(x(i), half), y: p.bottom + 17, "text-anchor": end ? "end" : "middle"}, text));
    free = x(i) + room;
  }
  const zero = p.y(Math.min(Math.max(0, ys.from), ys.to));
  shown.forEach((s, k) => {
    if (bars) {
      const w = slot * .76 / (stacked ? 1 : shown.length);
      ends[k].forEach((e, i) => {
        if (!e) return;
        const a = p.y(e[0]), b = p.y(e[1]);
        p.svg.append(draw("rect", {x: x(i) - slot * .38 + (stacked ? 0 : k * w), width: Math.max(w - (w > 4 ? 1 : 0), .5), y: Math.min(a, b), height: Math.abs(a - b), style: "fill:" + s.color, "fill-opacity": s.dashed ? .6 : 1}));
      });
      return;
    }
    let top = "", back = [], paths = "", fill = "";
    const end = () => { if (top) { paths += top; fill += top + back.reverse().map(b => "L" + b).join("") + "Z"; } top = ""; back = []; };
    ends[k].forEach((e, i) => {
      if (!e) return end();
      top += (top ? "L" : "M") + x(i).toFixed(1) + "," + p.y(e[1]).toFixed(1);
      back.push(x(i).toFixed(1) + "," + (stacked ? p.y(e[0]) : zero).toFixed(1));
    });
    end();
    if (v.chart === "area") p.svg.append(draw("path", {d: fill, style: "fill:" + s.color, "fill-opacity": stacked ? .55 : .22}));
    p.svg.append(draw("path", {d: paths, fill: "none", style: "stroke:" + s.color, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": s.dashed ? "5 3" : "none"}));
    if (n <= 40) ends[k].forEach((e, i) => { if (e) p.svg.append(draw("circle", {cx: x(i), cy: p.y(e[1]), r: 2.5, style: "fill:" + s.color})); });
  });
  const hair = draw("line", {y1: p.top, y2: p.bottom, stroke: "var(--fg2)", "stroke-dasharray": "3 3", visibility: "hidden"});
  p.svg.append(hair);
  return {
    svg: p.svg, count: n, place: i => [x(i), p.top + 10],
    nearest: px => { let best = -1; for (let i = 0; i < n; i++) if (best < 0 || Math.abs(x(i) - px) < Math.abs(x(best) - px)) best = i; return best; },
    mark: i => { hair.setAttribute("visibility", i < 0 ? "hidden" : "visible"); if (i >= 0) { hair.setAttribute("x1", x(i)); hair.setAttribute("x2", x(i)); } },
    about: i => [el("div", "b", brief(labels[i], 80)), ...shown.map(s => line(s.name, amount(s.values[i]), s.color))],
  };
}

function scatterChart(v, series, labels, hidden, W) {
  const points = [];
  series.forEach((s, k) => { if (!hidden.has(k)) s.values.forEach((y, i) => { if (typeof y === "number" && typeof s.x[i] === "number") points.push({s, x: s.x[i], y}); }); });
  const range = f => points.length ? points.reduce((r, p) => [Math.min(r[0], f(p)), Math.max(r[1], f(p))], [Infinity, -Infinity]) : [0, 1];
  const xs = axis(...range(p => p.x), W > 500 ? 8 : 4), p = plot(v, W, axis(...range(p => p.y), 5));
  const x = n => p.left + (n - xs.from) / (xs.to - xs.from) * (p.right - p.left);
  for (const k of xs.all) p.svg.append(draw("text", {x: x(k), y: p.bottom + 17, "text-anchor": "middle"}, short(k)));
  for (const o of points) p.svg.append(draw("circle", {cx: x(o.x), cy: p.y(o.y), r: points.length > 500 ? 2 : 4, style: "fill:" + o.s.color, "fill-opacity": .75}));
  const ring = draw("circle", {r: 8, fill: "none", stroke: "var(--fg)", visibility: "hidden"});
  p.svg.append(ring);
  return {
    svg: p.svg, count: points.length, place: i => [x(points[i].x), p.y(points[i].y)],
    nearest: (px, py) => points.reduce((best, o, i) => { const d = Math.hypot(x(o.x) - px, p.y(o.y) - py); return d < best[1] ? [i, d] : best; }, [-1, 60])[0],
    mark: i => { ring.setAttribute("visibility", i < 0 ? "hidden" : "visible"); if (i >= 0) { ring.setAttribute("cx", x(points[i].x)); ring.setAttribute("cy", p.y(points[i].y)); } },
    about: i => [line(points[i].s.name, "", points[i].s.color), line(v.x_title || "x", amount(points[i].x)), line(v.y_title || "y", amount(points[i].y))],
  };
}

function pieChart(v, series, labels, hidden, W) {
  const H = Math.min(300, W), r = H / 2 - 12, cx = W / 2, cy = H / 2, values = series.length ? series[0].values : [], parts = [];
  const sum = values.reduce((a, k, i) => hidden.has(i) ? a : a + (+k || 0), 0), svg = draw("svg", {viewBox: "0 0 " + W + " " + H, height: H});
  let from = 0;
  values.forEach((k, i) => {
    if (hidden.has(i) || !(k > 0)) return;
    const to = from + Math.min(k / sum, .99999) * 2 * Math.PI, at = a => (cx + r * Math.sin(a)).toFixed(2) + "," + (cy - r * Math.cos(a)).toFixed(2);
    const path = draw("path", {d: "M" + cx + "," + cy + "L" + at(from) + "A" + r + "," + r + " 0 " + (to - from > Math.PI ? 1 : 0) + " 1 " + at(to) + "Z", style: "fill:var(--c" + i % 10 + ")", stroke: "var(--bg)", "stroke-width": 2});
    svg.append(path); parts.push({i, k, from, to, path}); from = to;
  });
  return {
    svg, count: parts.length, place: n => { const a = (parts[n].from + parts[n].to) / 2; return [cx + r * .6 * Math.sin(a), cy - r * .6 * Math.cos(a)]; },
    nearest: (px, py) => { const a = (Math.atan2(px - cx, cy - py) + 2 * Math.PI) % (2 * Math.PI); return Math.hypot(px - cx, py - cy) > r ? -1 : parts.findIndex(o => a >= o.from && a <= o.to); },
    mark: n => parts.forEach((o, m) => o.path.setAttribute("fill-opacity", n < 0 || n === m ? 1 : .45)),
    about: n => [line(labels[parts[n].i], amount(parts[n].k) + " (" + Math.round(parts[n].k / sum * 1000) / 10 + " %)", "var(--c" + parts[n].i % 10 + ")")],
  };
}

// numbers returns the values as a table, for those who would rather read.
function numbers(v, series, labels) {
  const d = el("details"), most = 200, scatter = v.chart === "scatter";
  d.append(el("summary", "dim", "Values"));
  d.ontoggle = () => {
    if (d.childNodes.length > 1) return size();
    const rows = [];
    if (scatter) series.forEach(s => s.values.slice(0, most).forEach((y, i) => rows.push([s.name, amount(s.x[i]), amount(y)])));
    else labels.slice(0, most).forEach((l, i) => rows.push([l, ...series.map(s => amount(s.values[i]))]));
    const w = el("div", "wide");
    w.append(table(scatter ? ["", v.x_title || "x", v.y_title || "y"] : [v.x_title || "", ...series.map(s => s.name)], rows.slice(0, most)));
    d.append(w);
    if (labels.length > most || rows.length > most) d.append(el("p", "dim", "The first " + most + " are shown."));
    size();
  };
  return d;
}

