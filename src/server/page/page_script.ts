/** What the page does, in plain JavaScript; see page_html.ts. */
export const PAGE_SCRIPT = String.raw`
"use strict";
const SWIM_MS = 2000, QUEUE_MS = 120000, LATENCY_MS = 60000, AGAIN_MS = 3000, TRACKS = 48;
const at = (id) => document.getElementById(id);

const probe = document.createElement("span");
document.body.append(probe);
// Custom properties are not resolved where they are read, colours are.
const colour = (name) => {
  probe.style.color = "var(" + name + ")";
  return getComputedStyle(probe).color;
};
const cells = [];
const cellColour = (cell) => {
  let i = cells.indexOf(cell);
  if (i < 0) {
    i = cells.push(cell) - 1;
    legends();
  }
  return colour("--c" + i % 6);
};
function legends() {
  for (const id of ["cells", "curve-cells"]) {
    at(id).replaceChildren(...cells.slice(0, 12).map((cell, i) => {
      const item = document.createElement("li");
      item.textContent = cell;
      item.style.setProperty("--c", "var(--c" + i % 6 + ")");
      return item;
    }));
  }
}

let tasks = [], ended = [], queue = [], curves = {}, sloMs;
let serverAheadMs;
// Lines of the picture: which request has which, and until when it was seen.
const tracks = new Map(), taken = [];

function trackOf(label, endMs) {
  let track = tracks.get(label);
  if (track === undefined) {
    let free = 0;
    while (free < TRACKS && taken[free] > endMs - 20) free++;
    if (free === TRACKS) return undefined;
    track = { line: free };
    tracks.set(label, track);
  }
  taken[track.line] = endMs;
  track.seenMs = endMs;
  return track.line;
}

function take(frame) {
  if (frame.policy !== undefined) at("policy").textContent = frame.policy || "–";
  if (frame.slo_ms !== undefined) sloMs = frame.slo_ms;
  if (frame.curves) curves = frame.curves;
  if (frame.at_ms === undefined) return;
  serverAheadMs = frame.at_ms - document.timeline.currentTime;
  for (const [worker, cell, startMs, ranMs, rows, padding, labels] of frame.tasks) {
    const lines = labels.map((label) => trackOf(label, startMs + ranMs))
      .filter((line) => line !== undefined);
    tasks.push({ worker, cell, startMs, ranMs, rows, padding, lines });
  }
  for (const [, model, tookMs, ranMs, how] of frame.ended) {
    ended.push({ atMs: frame.at_ms, model, tookMs, ranMs, how });
  }
  const { running, waiting, done, refused } = frame;
  queue.push({ atMs: frame.at_ms, running, waiting, done, refused });
  at("running").textContent = frame.running;
  at("waiting").textContent = frame.waiting;
  const since = (list, field, ms) => list.filter((one) => one[field] > frame.at_ms - ms);
  tasks = since(tasks, "startMs", SWIM_MS + 2000);
  ended = since(ended, "atMs", LATENCY_MS);
  queue = since(queue, "atMs", QUEUE_MS);
  for (const [label, { seenMs }] of tracks) {
    if (seenMs < frame.at_ms - SWIM_MS) tracks.delete(label);
  }
  figures(frame.at_ms);
}

const largest = (list, least) => list.reduce((a, b) => Math.max(a, b), least);
// Of all that ended, told of one by one or not.
const sumSince = (field, sinceMs) =>
  queue.reduce((sum, one) => sum + (one.atMs > sinceMs ? one[field] : 0), 0);

function figures(nowMs) {
  for (const [id, field] of [["served", "done"], ["refused", "refused"]]) {
    at(id).textContent = (sumSince(field, nowMs - 5000) / 5).toFixed(1);
  }
  const recent = tasks.slice(-200);
  at("rows").textContent = recent.length === 0
    ? "–"
    : (recent.reduce((sum, { rows }) => sum + rows, 0) / recent.length).toFixed(1);
  const times = ended.filter(({ how }) => how === "done")
    .map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const rank = (p) => times.length === 0
    ? "–"
    : ms(times[Math.max(0, Math.ceil(p * times.length) - 1)]);
  at("p50").textContent = rank(0.5);
  at("p99").textContent = rank(0.99);
}

const ms = (value) =>
  value >= 1000 ? (value / 1000).toFixed(2) + " s"
  : value >= 10 ? value.toFixed(0) + " ms"
  : value >= 1 ? value.toFixed(1) + " ms"
  : value > 0 ? (value * 1000).toFixed(0) + " µs" : "0";

function canvas(id) {
  const element = at(id), ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = element;
  if (element.width !== Math.round(width * ratio)) element.width = Math.round(width * ratio);
  if (element.height !== Math.round(height * ratio)) element.height = Math.round(height * ratio);
  const context = element.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}

// Steps of 1, 2 and 5 up to a most.
function steps(most, count) {
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let value = 0; value <= most * 1.0001; value += step) list.push(value);
  return list;
}

const LEFT = 52, BOTTOM = 20, TOP = 8, RIGHT = 18;

function axes({ context, width, height }, { xs, ys, xText, yText, x, y }) {
  context.strokeStyle = colour("--line");
  context.fillStyle = colour("--soft");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of ys) {
    const py = Math.round(y(value)) + 0.5;
    context.beginPath();
    context.moveTo(LEFT, py);
    context.lineTo(width - RIGHT, py);
    context.stroke();
    context.fillText(yText(value), LEFT - 6, py);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of xs) context.fillText(xText(value), x(value), height - BOTTOM + 5);
}

function drawSwim() {
  const view = canvas("swim"), { context, width, height } = view;
  if (serverAheadMs === undefined) return;
  // Frames come five times a second: what is drawn is that much behind.
  const nowMs = document.timeline.currentTime + serverAheadMs - 300;
  const x = (t) => width - RIGHT - (nowMs - t) / SWIM_MS * (width - LEFT - RIGHT);
  const line = (height - BOTTOM - TOP) / TRACKS;
  axes(view, {
    xs: [0, 0.5, 1, 1.5, 2].map((s) => nowMs - s * 1000),
    ys: [], x, y: () => 0, yText: String,
    xText: (t) => t === nowMs ? "now" : "-" + ((nowMs - t) / 1000).toFixed(1) + " s",
  });
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, width - LEFT - RIGHT, height - BOTTOM);
  context.clip();
  for (const task of tasks) {
    if (task.startMs > nowMs || task.startMs + task.ranMs < nowMs - SWIM_MS) continue;
    const from = x(task.startMs), to = x(task.startMs + task.ranMs);
    context.fillStyle = cellColour(task.cell);
    for (const at of task.lines) {
      context.fillRect(from, TOP + at * line, Math.max(1, to - from - 0.5), line * 0.72);
    }
    // A hair between the first and the last of a batch holds them together.
    if (task.lines.length > 1) {
      context.globalAlpha = 0.25;
      const first = Math.min(...task.lines), last = Math.max(...task.lines);
      context.fillRect(from, TOP + first * line, 0.75, (last - first) * line + line * 0.72);
      context.globalAlpha = 1;
    }
  }
  context.restore();
}

function drawQueue() {
  const view = canvas("queue"), { context, width, height } = view;
  if (queue.length === 0) return;
  const nowMs = queue[queue.length - 1].atMs;
  const most = largest(queue.map((q) => Math.max(q.running, q.waiting)), 4);
  const x = (t) => width - RIGHT - (nowMs - t) / QUEUE_MS * (width - LEFT - RIGHT);
  const y = (v) => height - BOTTOM - v / most * (height - BOTTOM - TOP);
  axes(view, {
    xs: [120, 90, 60, 30, 0].map((s) => nowMs - s * 1000),
    ys: steps(most, 4), x, y, yText: String,
    xText: (t) => t === nowMs ? "now" : "-" + Math.round((nowMs - t) / 1000) + " s",
  });
  for (const [field, name] of [["waiting", "--c1"], ["running", "--c0"]]) {
    context.strokeStyle = colour(name);
    context.lineWidth = 1.5;
    context.beginPath();
    queue.forEach((q, i) => context[i ? "lineTo" : "moveTo"](x(q.atMs), y(q[field])));
    context.stroke();
  }
}

function drawLatency() {
  const view = canvas("latency"), { context, width, height } = view;
  const times = ended.filter(({ how }) => how === "done").map(({ tookMs }) => tookMs);
  if (times.length === 0) return;
  // Equal parts of the logarithm: eight to a doubling would be too many, four are seen.
  // There may be more of them than a call has arguments.
  const lowest = times.reduce((a, b) => Math.min(a, b), sloMs ?? Infinity);
  const highest = largest(times, sloMs ?? 0);
  const first = Math.floor(Math.log2(Math.max(lowest, 0.01)) * 4);
  const last = Math.max(first + 8, Math.ceil(Math.log2(Math.max(highest, 0.02)) * 4));
  const counts = new Array(last - first + 1).fill(0);
  for (const t of times) counts[Math.min(last, Math.max(first, Math.floor(Math.log2(t) * 4))) - first]++;
  const most = largest(counts, 1);
  const x = (value) => LEFT + (Math.log2(value) * 4 - first) / counts.length * (width - LEFT - RIGHT);
  const y = (v) => height - BOTTOM - v / most * (height - BOTTOM - TOP);
  const marks = [];
  for (let power = -2; power < 6; power++) {
    for (const m of [1, 3]) {
      const value = m * 10 ** power;
      if (Math.log2(value) * 4 >= first && Math.log2(value) * 4 <= last + 1) marks.push(value);
    }
  }
  axes(view, { xs: marks, ys: steps(most, 4), x, y, yText: String, xText: ms });
  const bar = (width - LEFT - RIGHT) / counts.length;
  counts.forEach((count, i) => {
    const edge = 2 ** ((first + i) / 4);
    context.fillStyle = colour(sloMs !== undefined && edge >= sloMs ? "--c1" : "--c0");
    context.fillRect(LEFT + i * bar, y(count), Math.max(1, bar - 1), height - BOTTOM - y(count));
  });
  if (sloMs !== undefined) {
    context.strokeStyle = colour("--ink");
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x(sloMs), TOP);
    context.lineTo(x(sloMs), height - BOTTOM);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour("--ink");
    const isRight = x(sloMs) > width * 0.7;
    context.textAlign = isRight ? "right" : "left";
    context.textBaseline = "top";
    context.fillText("target " + ms(sloMs), x(sloMs) + (isRight ? -5 : 5), TOP);
    const late = times.filter((t) => t > sloMs).length;
    const all = sumSince("done", queue[queue.length - 1].atMs - LATENCY_MS);
    const part = times.length < all ? " of " + all : "";
    at("latency-note").textContent = times.length + part + " requests that ended in the last minute, " +
      late + " of them later than the target.";
  }
}

function drawCurve() {
  const view = canvas("curve"), { context, width, height } = view;
  const lists = Object.entries(curves).filter(([, points]) => points.length > 0);
  if (lists.length === 0) return;
  const points = lists.flatMap(([, points]) => points);
  const rows = largest(points.map(([r]) => r), 4);
  const most = largest(points.map(([, t]) => t), 0);
  const x = (r) => LEFT + r / rows * (width - LEFT - RIGHT);
  const y = (t) => height - BOTTOM - t / most * (height - BOTTOM - TOP);
  axes(view, { xs: steps(rows, 6), ys: steps(most, 4), x, y, yText: ms, xText: String });
  for (const [cell, points] of lists) {
    context.fillStyle = context.strokeStyle = cellColour(cell);
    context.globalAlpha = 0.35;
    context.beginPath();
    points.forEach(([r, t], i) => context[i ? "lineTo" : "moveTo"](x(r), y(t)));
    context.stroke();
    context.globalAlpha = 1;
    for (const [r, t] of points) {
      context.beginPath();
      context.arc(x(r), y(t), 2.5, 0, 7);
      context.fill();
    }
  }
}

let drawnMs = 0;
function draw(nowMs) {
  drawSwim();
  if (nowMs - drawnMs > 250) {
    drawnMs = nowMs;
    drawQueue();
    drawLatency();
    drawCurve();
  }
  requestAnimationFrame(draw);
}
requestAnimationFrame(draw);

function listen() {
  const source = new EventSource("live");
  source.onopen = () => at("state").textContent = "live";
  source.onerror = () => {
    at("state").textContent = "no connection";
    // What is refused, by a server that enough look at or a proxy that finds none, browsers do not ask for again.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS);
  };
  source.onmessage = ({ data }) => take(JSON.parse(data));
}
listen();
`;
