// Series, drawn by uPlot: the time of each step, and counters below the time axis.
const series = (() => {
  let steps = null, shown = [];

  const bars = () => {
    const box = byId("step-chart");
    if (meta.steps.length - meta.first < 2) {
      box.hidden = true;
      return;
    }
    const times = Array.from(array("times")), x = meta.steps.slice(meta.first);
    const data = [x, times];
    const list = [{}, {label: meta.unit, fill: hue.k0, stroke: hue.k0, width: 0, points: {show: false},
      paths: uPlot.paths.bars({size: [0.8, 40]})}];
    meta.findings.forEach((finding, i) => {
      if (i >= 6 || !finding.steps.length || finding.steps.length > times.length / 2) return;
      const of = new Set(finding.steps.map(step => step - meta.first));
      data.push(times.map((time, at) => of.has(at) ? time : null));
      list.push({label: "finding " + (i + 1), fill: findingColour(i + 1), stroke: findingColour(i + 1), width: 0, points: {show: false},
        paths: uPlot.paths.bars({size: [0.8, 40]})});
    });
    const place = box.querySelector("div");
    steps?.destroy();
    const look = {stroke: hue.quiet, font, grid: {stroke: hue.line, width: 1}, ticks: {show: false}};
    steps = new uPlot({width: place.clientWidth, height: 190, series: list, legend: {show: false}, cursor: {y: false, drag: {x: false, y: false}},
      scales: {x: {time: false, range: (u, low, high) => [low - 0.6, high + 0.6]}, y: {range: (u, low, high) => [0, high * 1.08]}},
      axes: [{...look, grid: {show: false}, size: 26, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]}, {...look, size: 44}],
      hooks: {setCursor: [u => {
        const at = u.cursor.idx;
        box.querySelector("figcaption span").textContent = at == null ? "" : ` · ${meta.unit} ${x[at]}: ${ms(times[at])} ms`;
      }]}}, data, place);
    on(steps.over, "click", () => {
      const at = steps.cursor.idx;
      if (at != null) axis.show(null, stepTimes[2 * (at + meta.first)], stepTimes[2 * (at + meta.first) + 1]);
    });
  };

  // Counters of these ranks and of their nodes.
  const counters = async ranks => {
    const box = byId("charts");
    for (const one of shown) one.plot.destroy();
    box.replaceChildren();
    shown = [];
    if (!meta.charts.length) return;
    await block("charts");
    const nodes = new Set(ranks.map(rank => meta.ranks[rank][1]));
    const width = box.clientWidth, left = gutter(width), many = new Set(ranks).size > 1;
    const inks = [hue.k3, hue.comm, hue.f1, hue.k1, hue.f2, hue.f3, hue.f4, hue.f5];
    for (const chart of meta.charts) {
      if (chart.node ? !nodes.has(chart.node) : !ranks.includes(chart.rank)) continue;
      const row = make("div", "", {class: "chart"}), label = make("p");
      label.append(make("b", chart.title), make("small", (chart.node ? chart.node : many ? rankName(chart.rank) : "") + (chart.unit ? (chart.node || many ? " · " : "") + chart.unit : "")));
      const readings = chart.curves.map((curve, i) => {
        const line = make("span"), value = make("output");
        const dot = make("i");
        dot.style.background = inks[i];
        line.append(dot, curve[0] ? curve[0] + " " : "", value);
        label.append(line);
        return value;
      });
      row.append(label);
      box.append(row);
      const data = uPlot.join(chart.curves.map(curve => [array(curve[1] + ".at"), array(curve[1] + ".value")]));
      const plot = new uPlot({width: width - left, height: 58, legend: {show: false}, padding: [4, 0, 4, 0], pxAlign: 0,
        cursor: {y: false, x: true, drag: {x: false, y: false}, points: {show: false}},
        scales: {x: {time: false, range: () => [view.from, view.to]}, y: {range: (u, low, high) => [min(0, low), high > 0 ? high * 1.05 : 1]}},
        axes: [{show: false}, {show: false}],
        series: [{}, ...chart.curves.map((curve, i) => ({stroke: inks[i], width: 1.2, spanGaps: true, points: {show: false},
          paths: uPlot.paths.stepped({align: -1}), fill: i ? undefined : hue.line}))]}, data, row);
      shown.push({plot, data, readings});
    }
  };
  const move = () => {
    for (const {plot} of shown) plot.setScale("x", {min: view.from, max: view.to});
  };
  // Values at a moment.
  const read = time => {
    for (const {data, readings} of shown) {
      const at = clamp(lowerBound(data[0], time), 0, data[0].length - 1);
      readings.forEach((value, i) => {
        let k = at;
        while (k > 0 && data[i + 1][k] == null) --k;
        value.textContent = time < 0 ? "" : short(data[i + 1][k] ?? 0);
      });
    }
  };
  return {bars, counters, move, read};
})();
