"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const axes = { reads: "entries read to learn", epochs: "epochs", seconds: "seconds" };
  const dashes = ["solid", "dash", "dot", "dashdot"];
  const state = { x: "reads", y: "relative", logx: false, logy: true };

  // Plotly takes some tags in names for markup: names are shown as they are.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text) => plain(text.length > 40 ? text.slice(0, 39) + "…" : text);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (k) => css("--c" + (k % 8));
  const dash = (k) => dashes[Math.floor(k / 8) % dashes.length];
  const faint = (hex, part) => hex + Math.round(255 * part).toString(16).padStart(2, "0");
  const several = data.names.length > 1;
  const centres = (edges) => edges.slice(1).map((e, i) => (e + edges[i]) / 2);
  const title = (k, label) => [several || !label ? short(data.names[k]) : "", label ? short(label) : ""].filter(Boolean).join(" · ");

  function axis(text, more) {
    return Object.assign({
      title: { text, standoff: 8, font: { size: 13 } }, gridcolor: css("--line"), zeroline: false,
      linecolor: css("--line"), automargin: true, exponentformat: "SI", ticks: "",
    }, more);
  }

  // A log scale over several powers of ten has labels at the powers only.
  function logAxis(text, traces, side, more) {
    const values = traces.flatMap((t) => t[side]).filter((v) => v > 0);
    const wide = values.length && Math.max(...values) / Math.min(...values) > 30;
    return axis(text, Object.assign({ type: "log", exponentformat: "power" }, wide ? { dtick: 1 } : {}, more));
  }

  function draw(name, traces, x, y, more) {
    const place = document.getElementById("chart-" + name);
    if (!place) return null;
    const narrow = place.clientWidth < 480;
    const layout = Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif", size: 12, color: css("--ink") },
      margin: { l: 10, r: 10, t: 8, b: 10 }, xaxis: x, yaxis: y,
      showlegend: traces.filter((t) => t.showlegend !== false).length > 1,
      legend: narrow ? { orientation: "h", y: -0.25, x: 0 } : { x: 1.01, y: 1, traceorder: "normal" },
      hoverlabel: { namelength: 40 }, dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    }, more);
    return Plotly.react(place, traces, layout, { displaylogo: false, responsive: true, displayModeBar: false });
  }

  // A line may have holes; on a log scale a zero is one.
  const line = (x, y, k, more) => Object.assign(
    { type: "scatter", mode: "lines+markers", x, y, line: { color: color(k), dash: dash(k), width: 2 }, marker: { color: color(k), size: 5 } }, more);

  function convergence() {
    const traces = [];
    const text = { relative: "gap / objective, certified", gap: "gap, certified", objective: "objective", error: "error on other rows" }[state.y];
    data.runs.forEach((runs, k) => {
      if (state.y === "error") {
        const one = data.errors[k];
        if (!one) return;
        const x = one[state.x], order = x.map((_, i) => i).sort((i, j) => x[i] - x[j]); // each point is a fit of its own
        traces.push(line(order.map((i) => x[i]), order.map((i) => one.error[i]), k, { name: title(k) }));
        return;
      }
      runs.forEach((run, r) => {
        const x = run[state.x], shown = { name: title(k, run.label), showlegend: r === 0, legendgroup: "g" + k };
        if (runs.length > 1 && r === 0) shown.name = title(k, run.label) + ", …";
        if (state.y !== "objective") {
          traces.push(line(x, run[state.y], k, shown));
          return;
        }
        traces.push(line(x, run.primal, k, Object.assign({}, shown, { name: shown.name + ", value" })));
        traces.push(line(x, run.dual, k, Object.assign({}, shown, {
          name: shown.name + ", bound", line: { color: color(k), width: 1.5, dash: "dot" },
          fill: state.logy ? "none" : "tonexty", fillcolor: faint(color(k), 0.1), marker: { color: color(k), size: 3 },
        })));
      });
    });
    return draw("convergence", traces,
      state.logx ? logAxis(axes[state.x], traces, "x") : axis(axes[state.x], { rangemode: "tozero" }),
      state.logy ? logAxis(text, traces, "y") : axis(text));
  }

  function margins() {
    const traces = [];
    data.margins.forEach((parts, k) => parts.forEach((part) => {
      const x = centres(part.edges);
      const train = part.label === "train";
      traces.push({
        type: "scatter", mode: "lines", x, y: part.share, name: title(k, part.label),
        line: { shape: "hvh", color: color(k), width: 2, dash: train ? "dot" : "solid" },
        visible: train && several ? "legendonly" : true, fill: train ? "none" : "tozeroy", fillcolor: faint(color(k), 0.15),
      });
    }));
    return draw("margins", traces, axis("margin", { zeroline: true, zerolinecolor: css("--soft") }), axis("part of the rows", { rangemode: "tozero" }));
  }

  function path() {
    const traces = [];
    data.path.forEach((one, k) => one && one.lines.forEach((l, r) => traces.push(
      line(one.alphas, l.weights, r, { name: title(k, l.label), line: { color: color(r), width: 2, dash: dashes[(k + Math.floor(r / 8)) % 4] } }))));
    return draw("path", traces, logAxis("alpha", traces, "x", { autorange: "reversed" }), axis("weight"));
  }

  function search() {
    const traces = [];
    data.search.forEach((lines, k) => lines.forEach((l, r) => {
      const c = k * 3 + r, low = l.mean.map((m, i) => m - l.spread[i]), high = l.mean.map((m, i) => m + l.spread[i]);
      traces.push({ type: "scatter", mode: "lines", x: l.alphas, y: low, line: { width: 0 }, showlegend: false, hoverinfo: "skip" });
      traces.push({ type: "scatter", mode: "lines", x: l.alphas, y: high, line: { width: 0 }, fill: "tonexty", fillcolor: faint(color(c), 0.15), showlegend: false, hoverinfo: "skip" });
      traces.push(line(l.alphas, l.mean, c, { name: title(k, l.label) }));
    }));
    return draw("search", traces, logAxis("alpha", traces, "x", { autorange: "reversed" }), axis("score"));
  }

  const diagonal = () => ({ type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: css("--soft"), width: 1, dash: "dot" }, showlegend: false, hoverinfo: "skip" });
  const unit = (text) => axis(text, { range: [-0.02, 1.02], tickformat: ".1f" });

  function roc() {
    const traces = [diagonal()];
    data.roc.forEach((curves, k) => curves.forEach((c, r) => traces.push({
      type: "scatter", mode: "lines", x: c.x, y: c.y, name: title(k, c.label) + " · area " + c.area.toFixed(4),
      line: { color: color(several ? k : r), width: 2, dash: several ? dashes[r % 4] : "solid" },
    })));
    return draw("roc", traces, unit("others taken for it"), unit("found"), below());
  }

  function calibration() {
    const traces = [diagonal()];
    data.calibration.forEach((c, k) => c && traces.push(line(c.x, c.y, k, { name: title(k) })));
    return draw("calibration", traces, unit("probability said"), unit("part that happened"), below());
  }

  function residuals() {
    const traces = [];
    data.residuals.forEach((one, k) => {
      if (!one) return;
      const bins = one.histogram;
      traces.push({ type: "scatter", mode: "markers", x: one.x, y: one.y, name: title(k), marker: { color: faint(color(k), 0.55), size: 5 } });
      traces.push({
        type: "scatter", mode: "lines", x: bins.share, y: centres(bins.edges), xaxis: "x2", showlegend: false,
        line: { shape: "vhv", color: color(k), width: 1.5 }, fill: "tozerox", fillcolor: faint(color(k), 0.15), hoverinfo: "skip",
      });
    });
    return draw("residuals", traces, axis("prediction", { domain: [0, 0.82] }),
      axis("target − prediction", { zeroline: true, zerolinecolor: css("--soft") }),
      Object.assign(below(), { xaxis2: axis("", { domain: [0.84, 1], showticklabels: false, showgrid: false, rangemode: "tozero" }) }));
  }

  const below = () => ({ legend: { orientation: "h", y: -0.2, x: 0 } });
  const charts = [convergence, margins, path, search, roc, calibration, residuals];
  const drawAll = () => Promise.all(charts.map((chart) => chart()));

  // The choice of axes is kept in the address: page.html#x=reads,y=gap,logx=1
  function readAddress() {
    location.hash.slice(1).split(/[,&]/).forEach((part) => {
      const [key, value] = part.split("=");
      const choice = (key === "x" || key === "y") &&
        Array.from(document.getElementsByName(key)).find((input) => input.value === value);
      if (choice) choice.checked = true;
      const box = (key === "logx" || key === "logy") && document.getElementById(key);
      if (box) box.checked = value !== "0";
    });
    readControls();
  }

  function readControls() {
    for (const key of ["x", "y"]) {
      const chosen = document.querySelector(`input[name="${key}"]:checked`);
      if (chosen) state[key] = chosen.value;
    }
    for (const key of ["logx", "logy"]) {
      const box = document.getElementById(key);
      if (box) state[key] = box.checked;
    }
  }

  function changed() {
    readControls();
    convergence();
    const hash = `#x=${state.x},y=${state.y},logx=${+state.logx},logy=${+state.logy}`;
    try { history.replaceState(null, "", hash); } catch { /* a page in a frame has no address */ }
  }

  const form = document.querySelector(".controls");
  if (form) form.addEventListener("change", changed);
  addEventListener("hashchange", () => { readAddress(); convergence(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);
  addEventListener("beforeprint", drawAll);
  addEventListener("afterprint", drawAll);
  readAddress();
  drawAll().then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
