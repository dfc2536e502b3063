// Rows of the time axis: what a rank did between two moments, as single events where they are kept and wide enough,
// else as shares of time.
const shareRow = {kernels: 0, transfer: 1, waiting: 2, copies: 3, calls: 4};
const detailOf = rank => meta.events.find(one => one.rank === rank);
const titles = {kernels: "kernels", collectives: "collectives", copies: "copies", calls: "calls"};

// Rows of a rank, from its host to its device.
const rowsOf = rank => {
  const detail = detailOf(rank), rows = [{kind: "rank", rank, height: 22}];
  const order = ["ranges", "calls", "kernels", "collectives", "copies"];
  const lanes = [...(detail?.lanes ?? [])].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  const has = kind => lanes.some(lane => lane[0] === kind);
  for (const kind of order) {
    const own = lanes.filter(lane => lane[0] === kind);
    own.forEach((lane, i) => rows.push({kind, rank, lane, detail, title: lane[1], first: i === 0, height: kind === "ranges" ? 17 : 22}));
    if (!has(kind) && kind !== "ranges" && kind !== "copies") rows.push({kind, rank, title: titles[kind], first: true, height: 22});
  }
  return rows;
};

const greys = new Map();
// One grey for all shapes of a type.
const greyOf = name => {
  let grey = greys.get(name);
  if (grey === undefined) {
    const type = names(name).split(" ")[0];
    let hash = 7;
    for (let i = 0; i < type.length; ++i) hash = (hash * 31 + type.charCodeAt(i)) >>> 0;
    greys.set(name, grey = ["k1", "k2", "k3"][hash % 3]);
  }
  return grey;
};
const luminous = colour => {
  const [r, g, b] = colour.match(/\w\w/g).map(hex => parseInt(hex, 16));
  return 0.3 * r + 0.6 * g + 0.1 * b > 128;
};

// Of a share row, its mean between two moments, 0 to 1.
const shareBetween = (rank, row, from, to) => {
  const {buckets, ns} = meta.shares, values = array("shares");
  const start = (rank * meta.shares.rows.length + row) * buckets;
  const first = clamp(floor(from / ns), 0, buckets - 1), last = clamp(ceil(to / ns) - 1, first, buckets - 1);
  let sum = 0;
  for (let i = first; i <= last; ++i) sum += values[start + i];
  return sum / (last - first + 1) / 255;
};
const drawShares = (g, row, y, x0, x1, time, colour, of, stackOn) => {
  g.fillStyle = colour;
  for (let x = floor(x0); x < x1; ++x) {
    const part = shareBetween(row.rank, of, time(x), time(x + 1));
    const below = stackOn === undefined ? 0 : shareBetween(row.rank, stackOn, time(x), time(x + 1));
    const height = part * (row.height - 4);
    if (part > 0.004) g.fillRect(x, y + row.height - 2 - height - below * (row.height - 4), 1, max(height, 0.6));
  }
};

const isWait = (kind, name) => kind === "calls" && /synchron|wait/i.test(names(name));
const drawEvents = (g, row, y, from, to, place, box, hits) => {
  const all = events(row.lane), height = row.height - 4;
  const start = lowerBound(all.begin, from - all.longest), end = lowerBound(all.begin, to);
  const cover = new Map();
  for (let i = start; i < end; ++i) {
    const until = all.begin[i] + all.length[i];
    if (until < from) continue;
    const a = max(place(all.begin[i]), box.left), b = min(place(until), box.right);
    const width = b - a, kind = row.kind, name = all.name[i];
    if (width < 1.5) {
      // What is narrower than a pixel adds up to a bar of its share.
      const key = floor(a);
      cover.set(key, min(1, (cover.get(key) ?? 0) + width));
      continue;
    }
    let ink = "";
    if (kind === "collectives") {
      const there = clamp(place(all.begin[i] + all.more[i]), a, b);
      if (there - a > 0.5) {
        fill(g, hue.field, a, y + 2, there - a, height);
        fill(g, hatch(g), a, y + 2, there - a, height);
        g.strokeStyle = hue.k1;
        g.strokeRect(a + 0.5, y + 2.5, max(there - a - 1, 0.1), height - 1);
      }
      fill(g, ink = hue.comm, there, y + 2, max(b - there - (b - there > 3 ? 1 : 0), 0.5), height);
      if (there - a > 70) {
        g.fillStyle = hue.field;
        const text = "waits " + length(all.more[i]);
        g.fillRect(a + 4, y + 4, g.measureText(text).width + 6, height - 4);
        say(g, hue.ink, text, a + 7, y + row.height / 2);
      }
      if (b - there > 34) label(g, names(name), there + 4, y + row.height / 2, b - there - 8, ink);
    } else if (isWait(kind, name)) {
      fill(g, hatch(g), a, y + 2, width - (width > 3 ? 1 : 0), height);
      g.strokeStyle = hue.k1;
      g.strokeRect(a + 0.5, y + 2.5, max(width - 2, 0.1), height - 1);
    } else {
      ink = kind === "ranges" ? hue.k0 : kind === "calls" ? hue.k1 : hue[greyOf(name)];
      fill(g, ink, a, y + 2, width - (width > 3 ? 1 : 0), height);
      if (width > 34) label(g, names(name), a + 4, y + row.height / 2, width - 8, ink);
    }
    if (hits.selected && hits.selected.lane === row.lane && hits.selected.index === i) {
      g.strokeStyle = hue.ink;
      g.lineWidth = 2;
      g.strokeRect(a, y + 1, width, height + 2);
      g.lineWidth = 1;
    }
  }
  g.fillStyle = row.kind === "collectives" ? hue.comm : row.kind === "kernels" ? hue.k2 : hue.k1;
  for (const [x, part] of cover) g.fillRect(x, y + 2 + height * (1 - max(part, 0.08)), 1, height * max(part, 0.08));
};
const label = (g, text, x, y, width, back) => {
  say(g, luminous(back) ? "#1b1d20" : "#ffffff", fitted(g, text, width), x, y);
};

// Above this many events in sight shares tell more.
const mostEvents = 40000;
const drawRow = (g, row, y, from, to, place, time, box, hits) => {
  const shares = (a, b) => {
    if (row.kind === "kernels" && row.first) drawShares(g, row, y, a, b, time, hue.k2, shareRow.kernels);
    if (row.kind === "collectives" && row.first) {
      drawShares(g, row, y, a, b, time, hue.comm, shareRow.transfer);
      drawShares(g, row, y, a, b, time, hatch(g), shareRow.waiting, shareRow.transfer);
    }
    if (row.kind === "copies") drawShares(g, row, y, a, b, time, hue.k1, shareRow.copies);
    if (row.kind === "calls" && row.first) drawShares(g, row, y, a, b, time, hue.k1, shareRow.calls);
  };
  if (!row.lane) return shares(box.left, box.right);
  const windows = row.detail.whole ? [[from, to]] : row.detail.windows;
  let done = box.left;
  for (const [begin, end] of windows) {
    if (end <= from || begin >= to) continue;
    const a = max(begin, from), b = min(end, to), xa = max(place(a), box.left), xb = min(place(b), box.right);
    if (xa > done) shares(done, xa);
    const all = events(row.lane);
    if (lowerBound(all.begin, b) - lowerBound(all.begin, a) > mostEvents && row.kind !== "ranges") {
      shares(xa, xb);
    } else {
      g.save();
      g.beginPath();
      g.rect(xa, y, xb - xa, row.height);
      g.clip();
      drawEvents(g, row, y, a, b, place, box, hits);
      g.restore();
    }
    done = xb;
  }
  if (done < box.right) shares(done, box.right);
};
// The event of a row at a moment, or within some ns of it.
const eventAt = (row, time, near) => {
  if (!row.lane || !blocks.events?.buffer) return -1;
  const all = events(row.lane);
  let best = -1, distance = near;
  for (let i = lowerBound(all.begin, time - all.longest); i < all.count && all.begin[i] <= time + near; ++i) {
    const away = max(all.begin[i] - time, time - all.begin[i] - all.length[i], 0);
    if (away <= distance) best = i, distance = away;
  }
  return best;
};
