"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures-data");
  const palettes = read("palettes");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const coloured = (value, palette) => {
    if (typeof value === "string") return value[0] === "@" && value.slice(1) in palette ? palette[value.slice(1)] : value;
    if (Array.isArray(value)) return value.map((part) => coloured(part, palette));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, coloured(part, palette)]));
    return value;
  };
  // Half of a sheet of A4 or Letter with usual margins, in pixels of CSS: when a page is printed its width is not known.
  const ON_PAPER = 318;
  const draw = (theme, width) => Promise.all(Object.entries(figures).map(([name, figure]) => {
    const { data, layout } = coloured(figure, palettes[theme]);
    const size = width ? { width, autosize: false } : { autosize: true };
    return Plotly.react(name, data, { ...layout, ...size }, { responsive: true, displaylogo: false, displayModeBar: false });
  }));
  const theme = () => (dark.matches ? "dark" : "light");
  draw(theme()).then(() => { document.body.dataset.drawn = "yes"; });
  dark.addEventListener("change", () => draw(theme()));
  window.addEventListener("beforeprint", () => draw("light", ON_PAPER));
  window.addEventListener("afterprint", () => draw(theme()));

  const input = document.getElementById("search");
  if (!input) return;
  const groups = [...document.querySelectorAll("details.group")].map((group) => ({
    group,
    open: group.open,
    head: group.querySelector("summary").textContent.toLowerCase(),
    rows: [...group.querySelectorAll("tr.row")].map((row) => ({
      row, text: `${row.textContent} ${row.querySelector(".place").title}`.toLowerCase(),
    })),
  }));
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const { group, open, head, rows } of groups) {
      const whole = !wanted || head.includes(wanted);
      let here = 0;
      for (const { row, text } of rows) {
        row.hidden = !(whole || text.includes(wanted));
        here += row.hidden ? 0 : 1;
      }
      group.hidden = here === 0;
      group.open = wanted ? here > 0 : open;
      shown += here;
    }
    document.getElementById("nothing").hidden = shown > 0;
    document.getElementById("found").textContent = wanted ? `${shown} ${shown === 1 ? "row" : "rows"}` : "";
  });
})();
