// Ranks × steps.
const heat = (() => {
  const canvas = byId("heat"), status = byId("heat-status");
  const {columns, each, measures} = meta.heat;
  const ranks = meta.ranks.length;
  // Of very many ranks a row has several, of very many steps a column, and shows the worst.
  const ranksEach = ceil(ranks / 320), rows = ceil(ranks / ranksEach);
  const rowHeight = clamp(floor(640 / rows), 2, ranks < 4 ? 26 : 15);
  const top = 20;
  let measure, values, low, high, cursor = null, geometry;

  const value = (rank, column) => measure.most * (values[rank * columns + column] / 65535) ** 2;
  const choose = id => {
    measure = measures.find(one => one.id === id);
    values = array("heat." + id);
    // From 0, but where all would look alike from near the smallest.
    const sorted = Float64Array.from({length: min(values.length, 20000)},
      (_, i) => measure.most * (values[floor(i * values.length / min(values.length, 20000))] / 65535) ** 2).sort();
    const at = part => sorted[min(sorted.length - 1, floor(part * sorted.length))] ?? 0;
    low = id === "step" || id === "compute" ? at(0.06) * 0.98 : 0;
    high = max(at(0.997), low + 1e-6);
    for (const button of byId("heat-measures").children) button.setAttribute("aria-pressed", button.dataset.id === id);
    byId("heat-what").textContent = measure.what + ". Stronger is worse.";
    draw();
  };

  const draw = nextFrame(() => {
    const height = top + rows * rowHeight + 38;
    const {g, width} = prepare(canvas, height);
    const left = min(gutter(width), 110), right = width < 600 ? 8 : 118;
    const inner = width - left - right;
    const shown = min(columns, max(1, floor(inner)));
    geometry = {left, inner};
    const image = new ImageData(shown, rows);
    const means = new Float64Array(rows);
    for (let row = 0; row < rows; ++row) {
      for (let x = 0; x < shown; ++x) {
        let worst = 0;
        const until = max(floor((x + 1) * columns / shown), floor(x * columns / shown) + 1);
        for (let rank = row * ranksEach; rank < min((row + 1) * ranksEach, ranks); ++rank)
          for (let column = floor(x * columns / shown); column < until; ++column) worst = max(worst, value(rank, column));
        means[row] += worst / shown;
        const part = clamp((worst - low) / (high - low), 0, 1);
        const at = 3 * round(255 * (low ? part : Math.sqrt(part)));
        image.data.set([hue.ramp[at], hue.ramp[at + 1], hue.ramp[at + 2], 255], 4 * (row * shown + x));
      }
    }
    const small = document.createElement("canvas");
    small.width = shown;
    small.height = rows;
    small.getContext("2d").putImageData(image, 0, 0);
    g.imageSmoothingEnabled = false;
    g.drawImage(small, left, top, inner, rows * rowHeight);
    const cell = inner / columns;
    g.fillStyle = hue.field;
    if (cell > 6) for (let c = 1; c < columns; ++c) g.fillRect(left + c * cell - 0.5, top, 1, rows * rowHeight);
    if (rowHeight > 6) for (let r = 1; r < rows; ++r) g.fillRect(left, top + r * rowHeight - 0.5, inner, 1);
    // Ranks, with what findings name; a line between nodes.
    const marked = new Map();
    meta.findings.forEach((finding, i) => {
      if (finding.ranks.length <= ranks / 2 || ranks < 3)
        for (const rank of finding.ranks) if (!marked.has(rank)) marked.set(rank, i + 1);
    });
    const labelEach = ceil(13 / rowHeight);
    g.textAlign = "right";
    for (let row = 0; row < rows; ++row) {
      const rank = row * ranksEach, y = top + (row + 0.5) * rowHeight;
      g.fillStyle = marked.has(rank) ? hue.ink : hue.quiet;
      if (row % labelEach === 0 || (rowHeight > 9 && marked.has(rank))) g.fillText(rankName(rank), left - 8, y);
      if (row && meta.ranks[rank][1] !== meta.ranks[rank - ranksEach][1]) {
        fill(g, hue.quiet, left - 4, top + row * rowHeight - 0.5, inner + 4, 1);
      }
    }
    g.textAlign = "left";
    for (const [rank, number] of marked) {
      if (marked.size <= 40) badge(g, number, 12, top + (floor(rank / ranksEach) + 0.5) * rowHeight);
    }
    // Mean over steps.
    if (right > 20) {
      const most = max(...means) || 1;
      say(g, hue.quiet, "mean, ms", width - right + 10, top - 9);
      for (let row = 0; row < rows; ++row) {
        fill(g, hue.k1, width - right + 10, top + row * rowHeight + rowHeight * 0.2, 60 * means[row] / most, max(1, rowHeight * 0.6));
        if (row % labelEach === 0) {
          say(g, means[row] === most ? hue.ink : hue.quiet, ms(means[row]), width - right + 76, top + (row + 0.5) * rowHeight);
        }
      }
    }
    // Steps below, findings that are in some of them above.
    g.fillStyle = hue.quiet;
    const stepEach = max(1, niceStep(columns, inner / 70));
    for (let c = 0; c < columns; c += stepEach) g.fillText((c ? "" : meta.unit + " ") + meta.steps[c * each], left + c * cell, top + rows * rowHeight + 11);
    meta.findings.forEach((finding, i) => {
      if (finding.steps.length <= 12) for (const step of finding.steps) badge(g, i + 1, left + (floor(step / each) + 0.5) * cell, 9);
    });
    // The legend is drawn where there is room: low to high.
    g.textAlign = "right";
    const legend = 90, y = top + rows * rowHeight + 25;
    if (inner > 420) {
      for (let x = 0; x < legend; ++x) {
        const at = 3 * round(255 * x / legend);
        fill(g, `rgb(${hue.ramp[at]} ${hue.ramp[at + 1]} ${hue.ramp[at + 2]})`, left + inner - legend - 50 + x, y - 1, 1, 8);
      }
      say(g, hue.quiet, ms(low), left + inner - legend - 54, y + 3);
      g.fillText(ms(high) + " ms", left + inner, y + 3);
    }
    g.textAlign = "left";
    // The window of the time axis, and the cursor.
    g.strokeStyle = hue.ink;
    const from = view.from, to = view.to;
    let first = -1, last = -1;
    for (let i = 0; i < meta.steps.length; ++i) {
      if (stepTimes[2 * i + 1] > from && first < 0) first = i;
      if (stepTimes[2 * i] < to) last = i;
    }
    if (first >= 0 && last >= first && last - first + 1 < meta.steps.length)
      g.strokeRect(left + floor(first / each) * cell, top - 1, max(2, (floor(last / each) - floor(first / each) + 1) * cell), rows * rowHeight + 2);
    if (cursor) {
      g.lineWidth = 2;
      g.strokeRect(left + cursor.column * cell, top + cursor.row * rowHeight, max(cell, 2), rowHeight);
      g.lineWidth = 1;
    }
  });

  const tell = () => {
    let rank = cursor.row * ranksEach;
    for (let i = rank; i < min(rank + ranksEach, ranks); ++i) if (value(i, cursor.column) > value(rank, cursor.column)) rank = i;
    cursor.rank = rank;
    const step = meta.steps[cursor.column * each];
    status.textContent = `${rankName(rank)} (${meta.ranks[rank][1] || "node not known"}, device ${meta.ranks[rank][2]}), ${meta.unit} ${step}` +
      `${each > 1 ? " to " + meta.steps[min(meta.steps.length, (cursor.column + 1) * each) - 1] : ""}: ` +
      `${measure.title.toLowerCase()} ${ms(value(rank, cursor.column))} ms`;
    draw();
  };
  const open = () => {
    const step = cursor.column * each;
    axis.show(cursor.rank, stepTimes[2 * step], stepTimes[2 * min(step + each, meta.steps.length) - 1]);
  };
  const locate = event => {
    const [x, y] = pointOf(canvas, event);
    const column = floor((x - geometry.left) / geometry.inner * columns), row = floor((y - top) / rowHeight);
    return column >= 0 && column < columns && row >= 0 && row < rows ? {column, row} : null;
  };
  const init = () => {
    const group = byId("heat-measures");
    for (const one of measures) {
      const button = make("button", one.title, {type: "button", "data-id": one.id});
      on(button, "click", () => choose(one.id));
      group.append(button);
    }
    canvas.setAttribute("aria-label", `heat map of ${ranks} ranks and ${meta.steps.length} ${meta.unit}s; arrows move, Enter opens the ${meta.unit} on the time axis`);
    on(canvas, "pointermove", event => {
      const at = locate(event);
      if (at) cursor = at, tell();
    });
    on(canvas, "click", event => {
      const at = locate(event);
      if (at) cursor = at, tell(), open();
    });
    on(canvas, "keydown", event => {
      const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (move) {
        cursor ??= {column: 0, row: 0};
        cursor = {column: clamp(cursor.column + move[0], 0, columns - 1), row: clamp(cursor.row + move[1], 0, rows - 1)};
        tell();
      } else if (event.key === "Enter" && cursor) {
        open();
      } else {
        return;
      }
      event.preventDefault();
    });
    status.textContent = "Point at a cell to read it; click to open it on the time axis.";
    choose(measures[0].most > 0.02 * meta.median ? measures[0].id : measures[0].id === "late" && measures[2] ? "step" : measures[0].id);
  };
  return {init, draw};
})();
