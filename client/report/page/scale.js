// Colours, numbers and canvases.
const hue = {};
const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "quiet", "line", "paper", "field", "k0", "k1", "k2", "k3", "comm", "f1", "f2", "f3", "f4", "f5", "f6"])
    hue[name] = style.getPropertyValue("--" + name).trim();
  const stops = [0, 1, 2, 3, 4, 5, 6].map(i => style.getPropertyValue("--r" + i).trim().match(/\w\w/g).map(hex => parseInt(hex, 16)));
  hue.ramp = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; ++i) {
    const at = i / 255 * 6, low = min(5, floor(at)), part = at - low;
    for (let c = 0; c < 3; ++c) hue.ramp[3 * i + c] = stops[low][c] * (1 - part) + stops[low + 1][c] * part;
  }
  hue.hatch = null;
};
const fill = (g, colour, x, y, width, height) => {
  g.fillStyle = colour;
  g.fillRect(x, y, width, height);
};
const say = (g, colour, text, x, y) => {
  g.fillStyle = colour;
  g.fillText(text, x, y);
};
const findingColour = number => hue["f" + min(number, 6)];
const hatch = g => hue.hatch ??= (() => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = tile.getContext("2d");
  t.strokeStyle = hue.k2;
  t.lineWidth = 1;
  t.beginPath();
  for (const x of [-6, 0, 6]) t.moveTo(x, 6), t.lineTo(x + 6, 0);
  t.stroke();
  return g.createPattern(tile, "repeat");
})();

const ms = value => value >= 99.95 ? value.toFixed(0) : value >= 0.995 || value === 0 ? value.toFixed(1) : value.toFixed(value < 0.0995 ? 3 : 2);
const length = ns => {
  const size = abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(size >= 1e11 ? 0 : 2) + " s";
  if (size >= 999500) return (ns / 1e6).toFixed(size >= 99.95e6 ? 0 : size >= 9.995e6 ? 1 : 2) + " ms";
  return size >= 999.5 ? (ns / 1e3).toFixed(size >= 99950 ? 0 : 1) + " µs" : ns.toFixed(0) + " ns";
};
const short = value => {
  const size = abs(value);
  for (const [least, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (size >= least) return (value / (least === 1e4 ? 1e3 : least)).toPrecision(3) + " " + unit;
  return size >= 100 ? value.toFixed(0) : size === 0 ? "0" : value.toPrecision(3);
};
// A step of 1, 2 or 5 times a power of ten, so that about `count` fit.
const niceStep = (range, count) => {
  const raw = range / count, power = 10 ** floor(Math.log10(raw));
  return power * ([1, 2, 5].find(step => step * power >= raw) ?? 10);
};
const clamp = (value, low, high) => max(low, min(high, value));

const font = "11px system-ui, sans-serif";
// A context that draws in CSS pixels.
const prepare = (canvas, height) => {
  const width = canvas.parentElement.clientWidth, dense = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  canvas.width = round(width * dense);
  canvas.height = round(height * dense);
  const g = canvas.getContext("2d");
  g.setTransform(dense, 0, 0, dense, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = font;
  g.textBaseline = "middle";
  return {g, width};
};
// Where an event is on an element, in CSS pixels.
const pointOf = (element, event) => {
  const area = element.getBoundingClientRect();
  return [event.clientX - area.left, event.clientY - area.top];
};
const fitted = (g, text, width) => {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
  }
  return low ? text.slice(0, low) + "…" : "";
};
const badge = (g, number, x, y) => {
  g.fillStyle = findingColour(number);
  g.beginPath();
  g.arc(x, y, 7, 0, 7);
  g.fill();
  g.fillStyle = hue.paper;
  g.font = "bold 10px system-ui, sans-serif";
  g.textAlign = "center";
  g.fillText(number, x, y + 0.5);
  g.font = font;
  g.textAlign = "left";
};
const gutter = width => width < 600 ? 84 : 168;
const make = (tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const nextFrame = draw => {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; draw(); });
  };
};
const rankName = i => "rank " + meta.ranks[i][0];
// Moments at which steps begin and end, ns.
let stepTimes;
const stepAt = time => {
  for (let i = 0; i < meta.steps.length; ++i) if (stepTimes[2 * i] <= time && time < stepTimes[2 * i + 1]) return i;
  return -1;
};
// What the time axis shows, in ns since the begin.
const view = {from: 0, to: span};
