(() => {
  "use strict";
  const units = (steps, end) => (value) => {
    const [factor, unit] = steps.find(([factor]) => value >= factor) || [1, steps.base];
    return `${+(value / factor).toPrecision(4)}${unit}${end}`;
  };
  const bytes = units([[2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""]], "B/s");
  const count = units([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]], "");
  const ns = units([[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]], "");
  const shown = { bytes, count, ns };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const draw = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const chart = figure.querySelector(".chart");
    const svg = chart.querySelector("svg");
    if (data.x.length < 2 || data.lines.some((line) => line.y.length !== data.x.length)) return null;
    const show = (value) => (value == null ? "–" : value === 0 ? "0" : shown[data.unit](value));
    const axis = { stroke: colour("--fg"), grid: { stroke: colour("--edge"), width: 1 }, ticks: { stroke: colour("--edge") } };
    const plot = new uPlot({
      width: chart.clientWidth, height: 260,
      scales: { x: { time: false }, y: data.log ? { distr: 3 } : { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis, label: "seconds since the run began" },
             { ...axis, size: 84, ...(data.unit === "bytes" && { incrs: Array.from({ length: 60 }, (_, power) => 2 ** power) }), values: (_, marks) => marks.map((mark) => (mark == null ? "" : show(mark))) }],
      series: [{ label: "seconds" }, ...data.lines.map((line, number) => ({
        label: line.name, stroke: colour(`--c${number % 5}`), width: 1.8, dash: [[], [7, 3], [2, 3]][number % 3],
        value: (_, value) => show(value) }))],
    }, [data.x, ...data.lines.map((line) => (data.log ? line.y.map((value) => value || null) : line.y))]);
    svg.hidden = true;
    svg.style.display = "none";
    const holder = document.createElement("div");
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", `${svg.querySelector("title").textContent}: ${svg.querySelector("desc").textContent}`);
    holder.append(plot.root);
    const whole = document.createElement("button");
    whole.type = "button";
    whole.className = "zoom";
    whole.textContent = "Whole run";
    whole.title = "Drag over the chart to zoom in";
    whole.onclick = () => plot.setScale("x", { min: data.x[0], max: data.x[data.x.length - 1] });
    chart.append(holder, whole);
    return { plot, chart, holder, whole, svg };
  };
  const figures = [...document.querySelectorAll("figure")].filter((figure) => figure.querySelector("script"));
  let drawn = [];
  const all = () => {
    drawn.forEach(({ plot, holder, whole, svg }) => { plot.destroy(); holder.remove(); whole.remove(); svg.hidden = false; svg.style.display = ""; });
    drawn = figures.map(draw).filter(Boolean);
  };
  const back = () => { drawn.forEach(({ holder, whole, svg }) => { holder.style.display = "none"; whole.style.display = "none"; svg.style.display = ""; svg.hidden = false; }); };
  all();
  addEventListener("resize", () => drawn.forEach(({ plot, chart }) => plot.setSize({ width: chart.clientWidth, height: 260 })));
  addEventListener("beforeprint", back);
  addEventListener("afterprint", all);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();
