// The page of `profctl ui`. Names come from anybody's programs: they are set as text only.
"use strict";
(() => {
const $ = id => document.getElementById(id);
const OFTEN = 2000, FIRST = 8; // ms between two looks; sessions that are shown at first
const found = new Map(); // session → its findings, or why there are none
let shown = FIRST, sessions = [], busy = false, base = null; // the session that others are compared with

function make(tag, what = {}, ...inside) {
  const one = document.createElement(tag);
  for (const [key, value] of Object.entries(what)) {
    if (key === "class") one.className = value;
    else if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else one.setAttribute(key, value);
  }
  one.append(...inside.filter(part => part !== ""));
  return one;
}

async function ask(path, body) {
  const how = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  const answer = await fetch(path, how);
  const json = await answer.json().catch(() => ({ error: "profctl ui gave no answer" }));
  if (!answer.ok) throw new Error(json.error ?? answer.statusText);
  return json;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];
function bytes(value) {
  let unit = 0;
  for (; value >= 999.95 && unit + 1 < UNITS.length; ++unit) value /= 1000;
  return `${value.toFixed(unit ? 1 : 0)} ${UNITS[unit]}`;
}
const seconds = value => value < 60 ? `${value.toFixed(1)} s` : value < 3600 ? `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`
  : `${Math.floor(value / 3600)} h ${Math.floor(value / 60) % 60} min`;
const moment = text => text ? new Date(text).toLocaleString(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }) : "–";
const ended = one => one.state === "sealed" || one.state === "failed";

function say(text, good = false) {
  $("said").textContent = text;
  $("said").className = good ? "good" : "";
}

function state(one) {
  const word = one.state === "running" && one.paused ? "paused" : one.end_reason && one.state !== "failed" ? `${one.state} (${one.end_reason})` : one.state;
  const colour = one.state === "failed" ? "bad" : one.lost || one.degraded.length ? "warn" : ended(one) ? "" : "good";
  const cell = make("td", { class: colour }, word);
  const why = one.error || one.paused || one.degraded[0] || one.warnings[0];
  if (why) cell.append(make("small", {}, why));
  return cell;
}

function cost(finding) {
  const { percent, total_ms: total } = finding.cost;
  return typeof percent === "number" ? `, ${percent.toFixed(1)} % of a step` : typeof total === "number" ? `, ${total.toFixed(1)} ms in all` : "";
}

function findings(one) {
  const cell = make("td", { class: "findings" });
  const known = found.get(one.session);
  if (known === undefined) {
    if (ended(one)) cell.append(make("button", { type: "button", onclick: () => look(one.session) }, "Look for findings"));
  } else if (known === null) {
    cell.append(make("span", { class: "quiet" }, "looking …"));
  } else if (known.error ?? known.nothing) {
    cell.append(make("span", { class: "quiet" }, known.error ?? known.nothing));
  } else if (known.findings.length === 0) {
    cell.append(make("span", { class: "good" }, "nothing is slow that is known"));
  } else {
    cell.append(make("ol", {}, ...known.findings.slice(0, 3).map(finding => make("li", {}, finding.title + cost(finding)))));
    if (known.findings.length > 3) cell.append(make("small", {}, `and ${known.findings.length - 3} more in the report`));
  }
  return cell;
}

function ways(one) {
  const id = encodeURIComponent(one.session), box = make("div", { class: "open" });
  if (ended(one)) {
    const page = (path, text) => make("a", { href: `report/${path}`, target: "_blank", rel: "noopener" }, text);
    if (one.directory) box.append(page(id, "Report"), make("a", { href: `timeline/${id}`, download: "" }, "Timeline"),
      base && base !== one.session ? page(`${id}/${encodeURIComponent(base)}`, "Compare with base") : make("button",
        { type: "button", "aria-pressed": String(base === one.session), onclick: () => choose(one.session) }, base ? "Is the base" : "Use as base"));
  } else {
    box.append(make("button", { type: "button", onclick: event => stop(one.session, event.target) }, "Stop"));
  }
  return make("td", {}, box);
}

function choose(session) {
  base = base === session ? null : session;
  drawSessions();
}

function drawSessions() {
  const body = $("sessions").tBodies[0];
  // Who has just reached something with the keyboard keeps it.
  const at = document.activeElement?.closest?.("#sessions tr"), place = at && [...at.querySelectorAll("a, button")].indexOf(document.activeElement);
  const rows = sessions.slice(0, shown).map(one => {
    const name = make("td", {}, one.name || one.session);
    name.append(make("small", {}, [one.name && one.session, one.user].filter(Boolean).join(" · ")));
    return make("tr", { "data-session": one.session }, name, state(one), make("td", { class: "when" }, moment(one.started_at)),
      make("td", { class: "n" }, seconds(one.elapsed_s)), make("td", { class: "n" }, bytes(one.used_bytes)),
      make("td", { class: one.lost ? "n bad" : "n" }, String(one.lost)), findings(one), ways(one));
  });
  body.replaceChildren(...rows);
  if (at) rows.find(row => row.dataset.session === at.dataset.session)?.querySelectorAll("a, button")[place]?.focus();
  const count = (word, test) => { const many = sessions.filter(test).length; return many ? `, ${many} ${word}` : ""; };
  $("sum").textContent = sessions.length ? `${sessions.length} in all${count("running", one => !ended(one))}${count("failed", one => one.state === "failed")}${count("lost something", one => one.lost)}; ${bytes(sessions.reduce((sum, one) => sum + one.used_bytes, 0))} on disk`
    : "There is none yet: start one above.";
  $("older").hidden = sessions.length <= shown;
}

async function look(session) {
  found.set(session, null);
  drawSessions();
  try {
    found.set(session, await ask(`api/findings/${encodeURIComponent(session)}`));
  } catch (error) {
    found.set(session, { error: error.message });
  }
  drawSessions();
}

async function stop(session, button) {
  button.disabled = true;
  try {
    await ask("api/stop", { session });
    say(`session ${session} has been stopped`, true);
  } catch (error) {
    say(error.message);
  }
  await look_at_sessions();
}

async function start(event) {
  event.preventDefault();
  $("go").disabled = true;
  const wanted = {};
  for (const id of ["preset", "duration", "devices", "pids", "name"]) wanted[id] = $(id).value.trim();
  try {
    const made = await ask("api/start", wanted);
    say(`session ${made.session} has been started`, true);
  } catch (error) {
    say(error.message);
  }
  $("go").disabled = false;
  await look_at_sessions();
}

async function look_at_sessions() {
  sessions = (await ask("api/sessions")).sessions;
  drawSessions();
}

const STATES = ["starting", "ok", "exception", "asleep", "lost"];
function drawLive(live) {
  const sums = new Map(); // "name device" → the sum over the rest
  const add = (key, value) => sums.set(key, (sums.get(key) ?? 0) + value);
  const chips = new Map();
  for (const { name, labels, value } of live.values) {
    if (name === "profd_device_memory_used_bytes" && labels.scope !== "device") continue;
    add(labels.device === undefined ? name : `${name} ${labels.device}`, value);
    if (labels.part) add(`${name} ${labels.part}`, value);
    if (labels.minutes) add(`${name} ${labels.minutes}`, value);
    if (name === "profd_device_status") chips.set(labels.device, labels.chip ?? "");
  }
  const of = (name, device) => sums.get(device === undefined ? name : `${name} ${device}`);
  const text = (value, show) => value === undefined ? "–" : show(value);
  const rows = [...chips].sort((a, b) => a[0] - b[0]).map(([device, chip]) => {
    const is = of("profd_device_status", device), busy = of("profd_device_aicore_utilization_ratio", device);
    const use = make("td", {});
    if (busy === undefined) use.append("–");
    else use.append(make("meter", { value: busy, "aria-hidden": "true" }), `${(100 * busy).toFixed(0)} %`);
    return make("tr", {}, make("td", { class: "n" }, device), make("td", {}, chip),
      make("td", { class: is === 1 ? "good" : "bad" }, STATES[is] ?? "no answer"), use,
      make("td", { class: "n" }, text(of("profd_device_aicore_frequency_hertz", device), value => `${Math.round(value / 1e6)} MHz`)),
      make("td", { class: "n" }, text(of("profd_device_hbm_bytes_per_second", device), value => `${bytes(value)}/s`)),
      make("td", { class: "n" }, text(of("profd_device_memory_used_bytes", device), bytes)));
  });
  $("live").tBodies[0].replaceChildren(...rows);
  $("live").hidden = rows.length === 0;
  const parts = [text(of("profd_host_cpu_utilization_ratio"), value => `CPU ${(100 * value).toFixed(0)} %`),
    text(of("profd_host_memory_bytes total"), total => `memory ${bytes(total - (of("profd_host_memory_bytes available") ?? 0))} of ${bytes(total)}`),
    text(of("profd_host_load 1"), value => `load ${value.toFixed(2)}`)].filter(part => part !== "–");
  $("node").textContent = `${rows.length ? "" : "No devices. "}${parts.join(" · ")}`;
}

async function node() {
  const { host, presets, devices } = await ask("api/node");
  $("host").textContent = `on ${host}`;
  document.title = `profd on ${host}`;
  $("preset").replaceChildren(...presets.map(({ name }) => make("option", { value: name }, name)));
  const about = () => { $("about").textContent = presets.find(({ name }) => name === $("preset").value)?.about ?? ""; };
  $("preset").addEventListener("change", about);
  about();
  if (devices.length) $("devices").value = "all";
}

async function turn() {
  if (!busy && !document.hidden) {
    busy = true;
    try {
      await look_at_sessions();
      drawLive(await ask("api/live"));
      $("state").textContent = "";
    } catch (error) {
      $("state").textContent = `No answer: ${error.message}`;
    }
    busy = false;
  }
  setTimeout(turn, OFTEN);
}

$("start").addEventListener("submit", start);
$("older").addEventListener("click", () => { shown += FIRST; drawSessions(); });
node().catch(error => { $("state").textContent = error.message; }).then(turn)
  .then(() => { document.documentElement.dataset.ready = "1"; });
})();
