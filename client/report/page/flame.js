// Stacks: who called whom, from the top down; as wide as the time in it.
const flame = (() => {
  const canvas = byId("flame");
  if (!canvas) return {init() {}, draw() {}};
  const status = byId("flame-status"), which = byId("flame-which"), find = byId("flame-find");
  const rowHeight = 19;
  const all = JSON.parse(byId("d-flames").textContent);
  let tree, root, path = [], hits = [], current = null;

  const children = node => node[2] ?? [];
  const depthOf = node => 1 + children(node).reduce((most, child) => max(most, depthOf(child)), 0);
  const amount = value => tree.unit === "ns" ? length(value) : short(value) + " cycles";
  const draw = nextFrame(() => {
    const depth = min(path.length + depthOf(root), 70);
    const {g, width} = prepare(canvas, depth * rowHeight + 2);
    const text = find.value.trim().toLowerCase();
    hits = [];
    let matched = 0;
    const inside = (node, below) => {
      const is = text && node[0].toLowerCase().includes(text);
      if (is && !below) matched += node[1];
      for (const child of children(node)) inside(child, below || is);
    };
    inside(root, false);
    const one = (node, x, y, wide, parent) => {
      if (wide < 0.8 || y > depth * rowHeight) return;
      hits.push({node, x, y, wide, parent});
      const is = text && node[0].toLowerCase().includes(text);
      const ink = is ? hue.f1 : node[0].endsWith(" [k]") ? hue.comm : text ? hue.line : [hue.k0, hue.k1][(y / rowHeight) % 2];
      fill(g, ink, x, y + 1, max(wide - 1, 0.8), rowHeight - 1);
      if (wide > 34) label(g, node[0], x + 5, y + rowHeight / 2 + 1, wide - 10, ink);
      if (node === current) g.strokeStyle = hue.ink, g.strokeRect(x + 0.5, y + 1.5, wide - 2, rowHeight - 2);
      let at = x;
      for (const child of [...children(node)].sort((a, b) => b[1] - a[1])) {
        const own = wide * child[1] / node[1];
        one(child, at, y + rowHeight, own, node);
        at += own;
      }
    };
    path.forEach((node, i) => {
      hits.push({node, x: 0, y: i * rowHeight, wide: width});
      fill(g, hue.line, 0, i * rowHeight + 1, width, rowHeight - 1);
      label(g, node[0], 5, i * rowHeight + rowHeight / 2, width - 10, hue.line);
    });
    one(root, 0, path.length * rowHeight, width, null);
    if (text) status.textContent = `${find.value}: ${amount(matched)}, ${(100 * matched / root[1]).toFixed(1)} %`;
  });
  const tell = () => {
    if (!current) return;
    const own = current[1] - children(current).reduce((sum, child) => sum + child[1], 0);
    status.textContent = `${current[0]}: ${amount(current[1])}, ${(100 * current[1] / tree.tree[1]).toFixed(1)} %` + (own > 0 ? `; itself ${amount(own)}` : "");
  };
  // Frames from the whole tree down to one.
  const wayTo = node => {
    const search = (at, way) => at === node ? way : children(at).map(child => search(child, [...way, at])).find(Boolean);
    return search(tree.tree, []) ?? [];
  };
  const enlarge = node => {
    path = wayTo(node);
    root = current = node;
    tell();
    draw();
  };
  const choose = i => {
    tree = all[i];
    current = null;
    path = [];
    root = tree.tree;
    canvas.setAttribute("aria-label", `${tree.waiting ? "waits" : "CPU samples"} of ${tree.title}, by frame; arrows move, Enter enlarges`);
    status.textContent = `${tree.samples} ${tree.waiting ? "waits" : "samples"}, ${amount(tree.tree[1])} in all`;
    draw();
  };
  const init = () => {
    all.forEach((one, i) => which.append(make("option", `${one.title}: ${one.waiting ? "waiting" : "on a CPU"}`, {value: i})));
    on(which, "change", () => choose(+which.value));
    on(find, "input", draw);
    const hit = event => {
      const [x, y] = pointOf(canvas, event);
      return hits.find(one => x >= one.x && x < one.x + one.wide && y >= one.y && y < one.y + rowHeight)?.node;
    };
    on(canvas, "pointermove", event => {
      const node = hit(event);
      if (node && node !== current) current = node, tell(), draw();
    });
    on(canvas, "click", event => {
      const node = hit(event);
      if (node) enlarge(node);
    });
    on(canvas, "keydown", event => {
      current ??= root;
      const way = wayTo(current), parent = way.at(-1);
      const siblings = parent ? [...children(parent)].sort((a, b) => b[1] - a[1]) : [current], at = siblings.indexOf(current);
      if (event.key === "ArrowDown") current = [...children(current)].sort((a, b) => b[1] - a[1])[0] ?? current;
      else if (event.key === "ArrowUp") current = parent ?? current;
      else if (event.key === "ArrowLeft") current = siblings[max(0, at - 1)];
      else if (event.key === "ArrowRight") current = siblings[min(siblings.length - 1, at + 1)];
      else if (event.key === "Enter") enlarge(current);
      else if (event.key === "Escape") enlarge(tree.tree);
      else return;
      event.preventDefault();
      tell();
      draw();
    });
    choose(0);
  };
  return {init, draw};
})();
