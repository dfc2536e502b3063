// The time axis: what is shown, and how one moves in it.
const axis = (() => {
  const canvas = byId("axis"), status = byId("axis-status"), one = byId("axis-rank"), two = byId("axis-other");
  // Shorter than this, in ns, nothing is shown.
  const shortest = 2000;
  let rows = [], rank = 0, other = -1, cursor = -1, box = {left: 168, right: 1000}, measured = null, finding = 0, selected = null, ready = false;

  const place = time => box.left + (time - view.from) / (view.to - view.from) * (box.right - box.left);
  const time = x => view.from + (x - box.left) / (box.right - box.left) * (view.to - view.from);

  const layout = () => {
    rows = [{kind: "run", title: "whole run", height: 30}, {kind: "steps", title: meta.unit + "s", height: 18}];
    if (meta.findings.length) rows.push({kind: "findings", title: "findings", height: 20});
    rows.push(...rowsOf(rank));
    if (other >= 0 && other !== rank) rows.push(...rowsOf(other));
    rows.push({kind: "ticks", height: 20});
    let y = 0;
    for (const row of rows) row.y = y, y += row.height;
    return y;
  };
  const placesOf = of => {
    const out = [];
    meta.findings.forEach((one, i) => one.places.forEach(([r, from, to, what]) => {
      if (of === undefined || r === of) out.push({number: i + 1, rank: r, from, to, what});
    }));
    return out;
  };

  const drawRun = (g, row) => {
    const inner = box.right - box.left, all = t => box.left + t / span * inner;
    g.fillStyle = hue.k0;
    let longest = 0;
    for (let i = 0; i < meta.steps.length; ++i) longest = max(longest, stepTimes[2 * i + 1] - stepTimes[2 * i]);
    for (let i = 0; i < meta.steps.length; ++i) {
      const a = all(stepTimes[2 * i]), b = all(stepTimes[2 * i + 1]), part = (stepTimes[2 * i + 1] - stepTimes[2 * i]) / longest;
      g.fillRect(a, row.y + 24 - 20 * part, max(b - a - (b - a > 4 ? 1 : 0), 0.7), 20 * part);
    }
    for (const one of placesOf()) {
      fill(g, findingColour(one.number), all(one.from), row.y + 24, max(all(one.to) - all(one.from), 2), 3);
    }
    const a = all(view.from), b = all(view.to);
    g.strokeStyle = hue.ink;
    g.strokeRect(a, row.y + 2.5, max(b - a, 3), 25);
  };
  const drawSteps = (g, row) => {
    let free = box.left;
    for (let i = 0; i < meta.steps.length; ++i) {
      const a = place(stepTimes[2 * i]), b = place(stepTimes[2 * i + 1]);
      if (b < box.left || a > box.right) continue;
      g.fillStyle = hue.line;
      if (a >= box.left && b - a > 3) g.fillRect(a, row.y, 1, rows.at(-1).y - row.y);
      const x = max(a + 4, free), text = b - a > 130 ? `${meta.unit} ${meta.steps[i]} · ${length(stepTimes[2 * i + 1] - stepTimes[2 * i])}` : "" + meta.steps[i];
      const wide = g.measureText(text).width;
      if (x + wide < box.right && (x + wide < b || b - a < 34)) {
        say(g, hue.quiet, text, x, row.y + 9);
        free = x + wide + 14;
      }
    }
  };
  const drawFindings = (g, row) => {
    let free = box.left;
    for (const one of placesOf()) {
      const a = max(place(one.from), box.left), b = min(place(one.to), box.right);
      if (b < box.left || a > box.right) continue;
      fill(g, findingColour(one.number), a, row.y + 16, max(b - a, 2), 3);
      if (a + 8 < free) continue;
      badge(g, one.number, a + 8, row.y + 8);
      const text = fitted(g, `rank ${meta.ranks[one.rank][0]}: ${one.what}`, min(max(b - a - 22, 0), 400));
      g.fillStyle = hue.ink;
      if (text.length > 4) g.fillText(text, a + 19, row.y + 8);
      free = a + 20;
    }
  };
  const drawTicks = (g, row) => {
    const step = niceStep(view.to - view.from, (box.right - box.left) / 100);
    g.fillStyle = hue.quiet;
    for (let t = ceil(view.from / step) * step; t < view.to; t += step) {
      const x = place(t);
      g.fillRect(x, row.y, 1, 4);
      const text = t === 0 ? "0" : tick(t, step);
      if (x + g.measureText(text).width < box.right) g.fillText(text, x + 4, row.y + 10);
    }
  };
  // As many digits as tell neighbours apart.
  const tick = (t, step) => {
    const [unit, name] = span >= 2e9 ? [1e9, " s"] : span >= 2e6 ? [1e6, " ms"] : [1e3, " µs"];
    return (t / unit).toFixed(clamp(-floor(Math.log10(step / unit) + 1e-9), 0, 6)) + name;
  };

  const draw = nextFrame(() => {
    const height = layout();
    const {g, width} = prepare(canvas, height);
    box = {left: gutter(width), right: width - 10};
    if (ready) series.move();
    g.save();
    for (const row of rows) {
      if (row.kind === "rank") {
        fill(g, hue.line, 0, row.y, width, 1);
        g.fillStyle = hue.ink;
        g.font = "bold " + font;
        g.fillText(rankName(row.rank), 12, row.y + 12);
        g.font = font;
        g.fillStyle = hue.quiet;
        const [, node, device] = meta.ranks[row.rank];
        const about = [node, "device " + device, row.rank === other ? "for comparison" : "",
          detailOf(row.rank) ? "" : "shares of time only: no single events are kept"].filter(Boolean).join(" · ");
        g.fillText(fitted(g, about, box.right - box.left), box.left, row.y + 12);
        continue;
      }
      g.fillStyle = hue.quiet;
      if (row.title) g.fillText(fitted(g, row.title, box.left - 20), 12, row.y + row.height / 2);
    }
    drawSteps(g, rows[1]);
    drawRun(g, rows[0]);
    for (const row of rows) {
      if (row.kind === "findings") drawFindings(g, row);
      if (row.kind === "ticks") drawTicks(g, row);
      if (!ready || row.rank === undefined || row.kind === "rank") continue;
      drawRow(g, row, row.y, view.from, view.to, place, time, box, {selected});
    }
    // Findings over the rows of their ranks.
    for (const of of [rank, other]) {
      const own = rows.filter(row => row.rank === of);
      if (!own.length) continue;
      const y = own[0].y + 22, bottom = own.at(-1).y + own.at(-1).height;
      for (const one of placesOf(of)) {
        if (one.to < view.from || one.from > view.to || (one.number !== finding && one.to - one.from > span / 3)) continue;
        const a = max(place(one.from), box.left), b = min(place(one.to), box.right);
        g.globalAlpha = one.number === finding ? 0.16 : 0.08;
        fill(g, findingColour(one.number), a, y, max(b - a, 1), bottom - y);
        g.globalAlpha = 1;
      }
    }
    drawLaunch(g);
    if (measured) {
      const a = place(measured[0]), b = place(measured[1]);
      g.globalAlpha = 0.15;
      fill(g, hue.f2, min(a, b), 30, abs(b - a), height - 50);
      g.globalAlpha = 1;
    }
    if (cursor >= view.from && cursor <= view.to) {
      g.fillStyle = hue.ink;
      g.globalAlpha = 0.6;
      g.fillRect(place(cursor), 30, 1, height - 30);
    }
    g.restore();
    heat.draw();
  });
  // From the call that launched the selected kernel to it.
  const drawLaunch = g => {
    if (!selected || selected.row.kind !== "kernels") return;
    const all = events(selected.lane), since = all.more[selected.index];
    const to = rows.find(row => row.lane === selected.lane), from = rows.find(row => row.kind === "calls" && row.rank === selected.row.rank);
    if (!since || !to || !from) return;
    const a = place(all.begin[selected.index] - since + 1), b = place(all.begin[selected.index]);
    g.strokeStyle = hue.f2;
    g.lineWidth = 1.5;
    g.beginPath();
    g.moveTo(clamp(a, box.left, box.right), from.y + from.height);
    g.lineTo(clamp(b, box.left, box.right), to.y + 2);
    g.stroke();
    g.lineWidth = 1;
  };

  const set = (from, to) => {
    const width = clamp(to - from, shortest, span);
    view.from = clamp(from, 0, span - width);
    view.to = view.from + width;
    tell();
    draw();
  };
  const zoom = (factor, around) => {
    const at = around ?? (view.from + view.to) / 2;
    set(at - (at - view.from) * factor, at + (view.to - at) * factor);
  };
  const move = part => set(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const toStep = i => {
    if (i < 0 || i >= meta.steps.length) return;
    const pad = (stepTimes[2 * i + 1] - stepTimes[2 * i]) * 0.02;
    set(stepTimes[2 * i] - pad, stepTimes[2 * i + 1] + pad);
  };
  // The index of the step in the middle, and whether it fills the window.
  const stepBy = by => toStep(clamp(max(0, stepAt((view.from + view.to) / 2)) + by, 0, meta.steps.length - 1));

  const tell = (text = "") => {
    status.textContent = `${length(view.to - view.from)} from ${length(view.from)}` + (text ? " · " + text : "");
  };
  const describe = (row, i) => {
    const all = events(row.lane), more = all.more[i];
    let text = `${names(all.name[i])}: ${length(all.length[i])}`;
    if (row.kind === "collectives" && more > 0) text += `, of it ${length(more)} waiting for the last rank`;
    if (row.kind === "kernels" && more > 0) text += `, launched ${length(more - 1)} before`;
    return text + ` at ${length(all.begin[i])}`;
  };
  const point = (x, y) => {
    cursor = x >= box.left && x <= box.right ? time(x) : -1;
    const row = rows.find(one => y >= one.y && y < one.y + one.height);
    let text = "";
    if (cursor >= 0 && row?.lane) {
      const i = eventAt(row, cursor, (view.to - view.from) / (box.right - box.left) * 2);
      if (i >= 0) text = `${rankName(row.rank)}, ${row.title || row.kind}: ` + describe(row, i);
    }
    if (cursor >= 0 && ready && row?.rank !== undefined && !text && shareRow[row.kind] !== undefined) {
      const width = (view.to - view.from) / (box.right - box.left);
      text = `${rankName(row.rank)}, ${row.kind}: ${round(100 * shareBetween(row.rank, shareRow[row.kind], cursor, cursor + width))} % of the time`;
    }
    if (row?.kind === "findings") {
      const one = placesOf().find(place_ => cursor >= place_.from && cursor <= place_.to);
      if (one) text = `finding ${one.number}: ${meta.findings[one.number - 1].title}`;
    }
    if (cursor >= 0 && !text) {
      const step = stepAt(cursor);
      text = `${length(cursor)}` + (step >= 0 ? `, ${meta.unit} ${meta.steps[step]} plus ${length(cursor - stepTimes[2 * step])}` : "");
    }
    tell(text);
    series.read(cursor);
    draw();
    return row;
  };

  const choose = (of, with_) => {
    rank = of;
    other = with_;
    one.value = rank;
    two.value = other;
    series.counters([rank, other].filter(one => one >= 0)).then(draw, report);
    draw();
  };
  // Goes to a place; null: the rank that is shown.
  const show = (of, from, to, number = 0) => {
    finding = number;
    if (of !== null && of !== rank) choose(of, meta.ranks[of][3] === of ? -1 : meta.ranks[of][3]);
    const pad = max((to - from) * 0.12, shortest);
    set(from - pad, to + pad);
    for (const button of byId("axis-findings").children) button.setAttribute("aria-pressed", +button.dataset.number === finding);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    byId("time").scrollIntoView({behavior: calm ? "auto" : "smooth", block: "nearest"});
  };
  const showFinding = number => {
    const one = meta.findings[number - 1]?.places[0];
    if (one) show(one[0], one[1], one[2], number);
  };

  const listen = () => {
    const pointers = new Map();
    let start = null;
    const jump = x => {
      const middle = (x - box.left) / (box.right - box.left) * span, half = (view.to - view.from) / 2;
      set(middle - half, middle + half);
    };
    on(canvas, "pointerdown", event => {
      const [x, y] = pointOf(canvas, event);
      pointers.set(event.pointerId, x);
      canvas.setPointerCapture(event.pointerId);
      start = {x, y, from: view.from, to: view.to, moved: false, strip: y < 30, measures: event.shiftKey};
      if (start.strip) jump(x);
      if (pointers.size === 2) start.pinch = [...pointers.values()];
    });
    on(canvas, "pointermove", event => {
      const [x, y] = pointOf(canvas, event);
      if (!pointers.has(event.pointerId) || !start) return void point(x, y);
      pointers.set(event.pointerId, x);
      const scale = (start.to - start.from) / (box.right - box.left);
      if (abs(x - start.x) > 3) start.moved = true;
      if (pointers.size === 2 && start.pinch) {
        const [a, b] = start.pinch, [c, d] = pointers.values();
        const ta = start.from + (a - box.left) * scale, tb = start.from + (b - box.left) * scale;
        if (abs(c - d) < 8) return;
        const now = (tb - ta) / (d - c);
        set(ta - (c - box.left) * now, ta + (box.right - c) * now);
      } else if (start.strip) {
        jump(x);
      } else if (start.measures) {
        measured = [start.from + (start.x - box.left) * scale, time(x)];
        tell("measured " + length(abs(measured[1] - measured[0])));
        draw();
      } else if (start.moved) {
        set(start.from - (x - start.x) * scale, start.to - (x - start.x) * scale);
      }
    });
    const up = event => {
      pointers.delete(event.pointerId);
      if (start && !start.moved && !start.strip && event.type === "pointerup") {
        measured = null;
        const row = point(start.x, start.y);
        const i = row?.lane ? eventAt(row, time(start.x), (view.to - view.from) / (box.right - box.left) * 2) : -1;
        selected = i < 0 ? null : {row, lane: row.lane, index: i};
        draw();
      }
      start = null;
    };
    on(canvas, "pointerup", up);
    on(canvas, "pointercancel", up);
    on(canvas, "pointerleave", () => {
      if (pointers.size) return;
      cursor = -1;
      series.read(-1);
      tell();
      draw();
    });
    on(canvas, "dblclick", event => toStep(stepAt(time(pointOf(canvas, event)[0]))));
    on(canvas, "wheel", event => {
      if (event.ctrlKey || event.metaKey || (document.activeElement === canvas && abs(event.deltaY) > abs(event.deltaX))) {
        event.preventDefault();
        zoom(Math.exp(clamp(event.deltaY, -200, 200) / 250), time(pointOf(canvas, event)[0]));
      } else if (abs(event.deltaX) > abs(event.deltaY)) {
        event.preventDefault();
        move(event.deltaX / 900);
      }
    }, {passive: false});
    on(canvas, "keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const key = event.key;
      if (key === "+" || key === "=" || key === "w") zoom(0.6);
      else if (key === "-" || key === "s") zoom(1 / 0.6);
      else if (key === "ArrowLeft" || key === "a") move(-0.2);
      else if (key === "ArrowRight" || key === "d") move(0.2);
      else if (key === "[" || key === "]") stepBy(key === "[" ? -1 : 1);
      else if (key === "0") set(0, span);
      else if (key >= "1" && key <= "9") showFinding(+key);
      else if (key === "Escape") measured = selected = null, draw();
      else return;
      event.preventDefault();
    });
    on(byId("axis-in"), "click", () => zoom(0.5));
    on(byId("axis-out"), "click", () => zoom(2));
    on(byId("axis-all"), "click", () => set(0, span));
    on(one, "change", () => choose(+one.value, other === +one.value ? -1 : other));
    on(two, "change", () => choose(rank, +two.value));
  };

  const init = () => {
    two.append(make("option", "no other", {value: -1}));
    meta.ranks.forEach((of, i) => {
      one.append(make("option", of[0], {value: i}));
      two.append(make("option", "rank " + of[0], {value: i}));
    });
    meta.findings.slice(0, 9).forEach((of, i) => {
      const button = make("button", i + 1, {type: "button", "data-number": i + 1, title: of.title, class: "n f" + min(i + 1, 6)});
      on(button, "click", () => showFinding(i + 1));
      byId("axis-findings").append(button);
    });
    canvas.setAttribute("aria-label", "time axis; plus and minus zoom, arrows move, brackets go by steps, digits to findings");
    listen();
    const first = meta.findings[0]?.places[0]?.[0] ?? 0;
    ready = true;
    const reference = meta.ranks[first][3];
    choose(first, reference === first ? -1 : reference);
    // A step or two tell more than a run of thousands.
    const middle = floor((meta.first + meta.steps.length - 1) / 2);
    if (meta.steps.length > 2) set(stepTimes[2 * middle], stepTimes[2 * min(middle + 1, meta.steps.length - 1) + 1]);
    else set(0, span);
  };
  return {init, draw, show, showFinding, redo: () => choose(rank, other)};
})();
