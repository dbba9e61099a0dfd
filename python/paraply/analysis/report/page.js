"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const views = {};
  const byId = (id) => document.getElementById(id);

  // Colours are variables of the style sheet. An SVG follows them by itself; a canvas needs their values.
  const values = (spec) => {
    const style = getComputedStyle(document.documentElement);
    const text = JSON.stringify(spec).replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    return JSON.parse(text);
  };

  const draw = (id, spec, renderer) =>
    vegaEmbed(byId(id), spec, { renderer, actions: false, mode: "vega-lite", tooltip: { theme: "report" } }).then((made) => {
      if (views[id]) views[id].finalize();
      views[id] = made.view;
      byId(id).setAttribute("aria-label", spec.description);
      return made.view;
    });

  // ---- legends
  const hide = (id) => {
    const boxes = document.querySelectorAll(`input[data-chart="${id}"]`);
    const hidden = [...boxes].filter((box) => !box.checked).map((box) => box.dataset.series);
    views[id].signal("hidden", hidden).runAsync();
  };
  document.querySelectorAll("input[data-chart]").forEach((box) => box.addEventListener("change", () => hide(box.dataset.chart)));

  // ---- schedule
  const CHART = "schedule-chart";
  const MOST_EXACT = 700;
  const MOST_CELLS = 12000;
  const LANE = 0.84;
  const LOW = 9;
  const STATES = ["apply", "waiting to commit", "commit"];
  const { each, transactions } = data.schedules;
  let shown = each[0];
  let from = 0;
  let until = shown.total;

  const seconds = (micros) => `${micros < 1e9 ? (micros / 1e6).toPrecision(4) : (micros / 1e6).toFixed(1)} s`;

  const details = (first, count) => {
    const [source, number, rows, bytes, file, position] = transactions.columns.map((column) => column[first]);
    if (count > 1) return { transactions: String(count), "first of them": name(source, number) };
    return { GTID: name(source, number), rows: String(rows), bytes: String(bytes), position: `${transactions.files[file]}:${position}` };
  };
  const name = (source, number) => {
    const origin = transactions.sources[source] || "";
    return origin ? `${origin}${origin.includes(":") || origin.length > 20 ? ":" : "-"}${number}` : number || "none";
  };

  const exactRows = () => {
    const [workers, starts, applies, waits, commits, firsts, counts] = shown.slots;
    const rows = [];
    let found = 0;
    for (let place = 0; place < starts.length; place++) {
      const parts = [applies[place], waits[place], commits[place]];
      if (starts[place] > until || starts[place] + parts[0] + parts[1] + parts[2] < from) continue;
      if (++found > MOST_EXACT) return null;
      let at = starts[place];
      const y0 = workers[place] + (1 - LANE) / 2;
      const about = details(firsts[place], counts[place]);
      parts.forEach((length, state) => {
        if (length > 0) {
          const tip = { worker: String(workers[place] + 1), state: STATES[state], from: seconds(at), for: seconds(length), ...about };
          rows.push({ x0: at / 1e6, x1: (at + length) / 1e6, y0, y1: y0 + LANE, state: STATES[state], strength: 1, tip });
        }
        at += length;
      });
    }
    return rows;
  };

  const cellRows = () => {
    const bins = shown.cells[0][0].length;
    const width = shown.total / bins;
    const first = Math.max(0, Math.floor(from / width));
    const last = Math.min(bins - 1, Math.floor(until / width));
    const columns = Math.max(12, Math.min(240, Math.floor(MOST_CELLS / shown.workers)));
    const step = Math.max(1, Math.ceil((last - first + 1) / columns));
    // A lane that is too low for heights shows its shares by the strength of the colour.
    const low = views[CHART].height() / shown.workers < LOW;
    const rows = [];
    shown.cells.forEach((lane, worker) => {
      for (let begin = first - (first % step); begin <= last; begin += step) {
        const end = Math.min(begin + step, bins);
        const shares = lane.map((state) => {
          let sum = 0;
          for (let bin = begin; bin < end; bin++) sum += state[bin];
          return Math.min(1, sum / (end - begin) / 100);
        });
        const busy = Math.min(1, shares[0] + shares[1] + shares[2]);
        const most = shares.indexOf(Math.max(...shares));
        let y1 = worker + 1 - (1 - LANE) / 2;
        shares.forEach((share, state) => {
          if (share < 0.005 || (low && state !== most)) return;
          const y0 = low ? worker : Math.max(worker, y1 - LANE * share);
          const tip = {
            worker: String(worker + 1), state: STATES[state], "share of the time": `${Math.round(100 * share)} %`,
            from: seconds(begin * width), until: seconds(end * width),
          };
          const strength = low ? 0.2 + 0.8 * busy : 1;
          rows.push({ x0: (begin * width) / 1e6, x1: (end * width) / 1e6, y0, y1: low ? worker + 1 : y1, state: STATES[state], strength, tip });
          y1 = y0;
        });
      }
    });
    return rows;
  };

  const show = () => {
    const exact = until <= shown.exact_until ? exactRows() : null;
    views[CHART].signal("t0", from / 1e6).signal("t1", until / 1e6).data("values", exact || cellRows()).runAsync();
    const kind = exact ? "single transactions" : "shares of time";
    byId("schedule-range").textContent = `${seconds(from)} to ${seconds(until)} of ${seconds(shown.total)}: ${kind}`;
    const rest = shown.total - (until - from);
    const slider = byId("schedule-position");
    slider.disabled = rest < 1;
    slider.value = rest < 1 ? 0 : Math.round((1000 * from) / rest);
    slider.setAttribute("aria-valuetext", `from ${seconds(from)}`);
  };

  const look = (begin, length) => {
    const size = Math.min(shown.total, Math.max(Math.min(50, shown.total), length));
    from = Math.max(0, Math.min(shown.total - size, begin));
    until = from + size;
    schedule();
  };
  // One drawing for all movements between two frames.
  let waiting = false;
  const schedule = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show();
    });
  };
  const zoom = (factor, at = (from + until) / 2) => {
    const length = (until - from) * factor;
    look(at - (at - from) * factor, length);
  };
  const move = (part) => look(from + (until - from) * part, until - from);
  const moves = { in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.25), right: () => move(0.25), all: () => look(0, shown.total) };

  const place = byId(CHART);
  const at = (x) => {
    const view = views[CHART];
    const part = (x - place.getBoundingClientRect().left - view.origin()[0]) / view.width();
    return from + Math.max(0, Math.min(1, part)) * (until - from);
  };
  const controls = () => {
    document.querySelectorAll("button[data-move]").forEach((button) => button.addEventListener("click", moves[button.dataset.move]));
    byId("schedule-position").addEventListener("input", (event) => {
      look((event.target.value / 1000) * (shown.total - (until - from)), until - from);
    });
    byId("schedule-applier").addEventListener("change", (event) => {
      shown = each[event.target.value];
      look(0, shown.total);
    });
    const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };
    place.addEventListener("keydown", (event) => {
      const wanted = keys[event.key];
      if (!wanted || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      moves[wanted]();
    });
    place.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event.clientX));
    }, { passive: false });
    place.addEventListener("dblclick", (event) => zoom(0.5, at(event.clientX)));
    drag();
  };
  const drag = () => {
    const pointers = new Map();
    place.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.clientX);
      place.setPointerCapture(event.pointerId);
    });
    place.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) return;
      const before = [...pointers.values()];
      pointers.set(event.pointerId, event.clientX);
      const after = [...pointers.values()];
      const width = views[CHART].width();
      if (after.length === 1) look(from - ((after[0] - before[0]) / width) * (until - from), until - from);
      if (after.length === 2) {
        const spread = (pair) => Math.max(20, Math.abs(pair[0] - pair[1]));
        zoom(spread(before) / spread(after), at((after[0] + after[1]) / 2));
      }
    });
    const end = (event) => pointers.delete(event.pointerId);
    ["pointerup", "pointercancel", "lostpointercapture"].forEach((kind) => place.addEventListener(kind, end));
  };
  const drawSchedule = () => draw(CHART, values(data.charts[CHART]), "canvas").then(show);

  // ---- light and dark
  const store = {
    get: () => { try { return localStorage.getItem("paraply-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("paraply-theme", value); } catch { /* not kept: a page from a file may have no storage */ } },
  };
  const theme = (value) => {
    if (value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  };
  const radios = [...document.querySelectorAll('input[name="theme"]')];
  const kept = radios.find((radio) => radio.value === store.get());
  if (kept) {
    kept.checked = true;
    theme(kept.value);
  }
  radios.forEach((radio) => radio.addEventListener("change", () => {
    theme(radio.value);
    store.set(radio.value);
    drawSchedule();
  }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSchedule);

  // ---- everything
  document.querySelectorAll("[hidden]").forEach((element) => { element.hidden = false; });
  const drawn = Object.entries(data.charts).filter(([id]) => id !== CHART).map(([id, spec]) => draw(id, spec, "svg"));
  Promise.all([...drawn, drawSchedule().then(controls)]).then(() => { document.documentElement.dataset.drawn = "true"; });
})();
