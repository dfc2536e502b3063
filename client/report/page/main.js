// Everything comes together.
const root = document.documentElement;
const report = error => {
  const place = byId("broken");
  place.textContent = "A part of this page is missing: " + error + ". All else is whole.";
  place.hidden = false;
  console.error(error);
};
const redraw = () => {
  readColours();
  heat.draw();
  axis.draw();
  flame.draw();
};
const restyle = () => {
  redraw();
  series.bars();
  axis.redo();
};

const openFinding = id => {
  const finding = document.querySelector(`details[data-key="${CSS.escape(id)}"]`) ?? byId(id);
  if (finding?.tagName === "DETAILS") finding.open = true, finding.scrollIntoView({block: "start"});
};
const page = () => {
  on(byId("theme"), "click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    restyle();
  });
  on(matchMedia("(prefers-color-scheme: dark)"), "change", restyle);
  let before;
  on(window, "beforeprint", () => {
    before = {theme: root.dataset.theme, closed: [...document.querySelectorAll("details.finding:not([open])")]};
    root.dataset.theme = "light";
    for (const one of before.closed) one.open = true;
    readColours();
    restyle();
  });
  on(window, "afterprint", () => {
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    for (const one of before.closed) one.open = false;
    restyle();
  });
  on(document, "click", event => {
    const go = event.target.closest("button.go"), copy = event.target.closest("button.copy"), head = event.target.closest("table.sortable th[scope=col]");
    if (go) axis.show(+go.dataset.rank, +go.dataset.from, +go.dataset.to, +go.dataset.finding);
    if (copy) {
      const text = copy.parentElement.querySelector("code").textContent;
      navigator.clipboard?.writeText(text).then(() => { copy.textContent = "copied"; }, () => {});
    }
    if (head) sort(head);
  });
  for (const head of document.querySelectorAll("table.sortable th[scope=col]")) {
    head.tabIndex = 0;
    on(head, "keydown", event => { if (event.key === "Enter") sort(head); });
  }
  on(window, "hashchange", () => openFinding(decodeURIComponent(location.hash.slice(1))));
  if (location.hash) openFinding(decodeURIComponent(location.hash.slice(1)));
  const links = [...document.querySelectorAll("nav a")];
  const watch = new IntersectionObserver(entries => {
    for (const entry of entries)
      if (entry.isIntersecting) for (const link of links) link.toggleAttribute("aria-current", link.hash === "#" + entry.target.id);
  }, {rootMargin: "-20% 0px -70% 0px"});
  for (const link of links) {
    const part = document.querySelector(link.hash);
    if (part) watch.observe(part);
  }
  let width = innerWidth;
  on(window, "resize", nextFrame(() => {
    if (innerWidth !== width) width = innerWidth, restyle();
  }));
};
const sort = head => {
  const at = [...head.parentElement.children].indexOf(head), body = head.closest("table").tBodies[0];
  const down = head.getAttribute("aria-sort") !== "descending";
  for (const one of head.parentElement.children) one.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = row => {
    const text = row.cells[at]?.textContent ?? "";
    return text === "" ? -Infinity : isNaN(+text) ? text : +text;
  };
  const rows = [...body.rows].map(row => [value(row), row]);
  rows.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : ("" + a).localeCompare("" + b)) * (down ? -1 : 1));
  body.append(...rows.map(([, row]) => row));
};

const start = async () => {
  root.classList.add("js");
  readColours();
  page();
  await Promise.all([block("over"), block("events")]);
  stepTimes = array("steps");
  heat.init();
  axis.init();
  flame.init();
  series.bars();
  root.dataset.ready = round(performance.now());
};
on(window, "error", event => report(event.message));
start().catch(report);
