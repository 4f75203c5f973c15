"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text ?? "";
    return made;
  };
  const figure = (value) => {
    if (typeof value !== "number") return value === null ? "–" : String(value);
    return Number.isInteger(value) ? value.toLocaleString("en-US") : String(Number(value.toPrecision(4)));
  };

  // Plots: hover text, zoom, and links to the rows.
  const FORMS = { share: (value) => `${Number((100 * value).toPrecision(4))}%`, count: figure, number: figure };
  const tip = document.body.appendChild(make("div", ""));
  tip.id = "tip";
  tip.hidden = true;
  const nice = (low, high, least) => {
    const rough = (high - low) / 5;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(least, [1, 2, 5, 10].map((one) => one * size).find((one) => one >= rough * 0.8));
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
  };
  const ticks = (axis, from, to) => {
    const value = (at) => axis.low + (at / 1000) * (axis.high - axis.low);
    const [low, high] = [value(from), value(to)];
    const percent = (one) => (100 * (one - low)) / (high - low);
    if (!axis.names.length) return nice(low, high, axis.form === "count" ? 1 : 0).map((one) => [percent(one), FORMS[axis.form](one)]);
    const inside = axis.names.map((name, place) => [place, name]).filter(([place]) => place >= low && place <= high);
    const every = Math.ceil(inside.length / 8);
    return inside.filter((_, place) => place % every === 0).map(([place, name]) => [percent(place), name.slice(0, 14)]);
  };
  const interact = (svg, { at, data, axes }) => {
    const WHOLE = [0, 0, 1000, 1000];
    let view = WHOLE;
    let start = null;
    const chart = svg.parentElement;
    const box = chart.appendChild(make("div", "zoom"));
    const reset = chart.parentElement.appendChild(make("button", "reset", "zoom out"));
    const place = (event) => {
      const shape = svg.getBoundingClientRect();
      return { shape, x: (event.clientX - shape.left) / shape.width, y: (event.clientY - shape.top) / shape.height };
    };
    const show = (next) => {
      view = next;
      const [x, y, width, height] = view;
      svg.setAttribute("viewBox", view.join(" "));
      reset.hidden = view === WHOLE;
      const marks = { x: ticks(axes.x, x, x + width), y: ticks(axes.y, 1000 - y - height, 1000 - y) };
      svg.querySelector(".lines").setAttribute("d", marks.y.map(([one]) => `M0 ${y + height * (1 - one / 100)}H1000`).join(""));
      for (const [axis, side] of [["x", "left"], ["y", "bottom"]])
        chart.querySelector(`.ticks.${axis}`).replaceChildren(...marks[axis].map(([one, text]) => {
          const mark = make("span", "", text);
          mark.style[side] = `${one}%`;
          return mark;
        }));
    };
    const nearest = ({ shape, x, y }) => {
      const across = (one) => (((one - view[0]) / view[2]) - x) * shape.width;
      const down = (one) => (((1000 - one - view[1]) / view[3]) - y) * shape.height;
      let best = -1;
      let distance = at.y ? 14 : Infinity;
      at.x.forEach((one, index) => {
        const far = at.y ? Math.hypot(across(one), down(at.y[index])) : Math.abs(across(one));
        if (far < distance) [best, distance] = [index, far];
      });
      return best;
    };
    const hide = () => { tip.hidden = true; };
    box.hidden = reset.hidden = true;
    reset.type = "button";
    reset.addEventListener("click", () => show(WHOLE));
    svg.addEventListener("dblclick", () => show(WHOLE));
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const now = place(event);
      if (start) {
        const wide = Math.abs(now.y - start.y) * now.shape.height < 12;
        const outer = chart.parentElement.getBoundingClientRect();
        box.hidden = false;
        box.style.left = `${now.shape.left - outer.left + Math.min(start.x, now.x) * now.shape.width}px`;
        box.style.width = `${Math.abs(start.x - now.x) * now.shape.width}px`;
        box.style.top = `${now.shape.top - outer.top + (wide ? 0 : Math.min(start.y, now.y)) * now.shape.height}px`;
        box.style.height = `${(wide ? 1 : Math.abs(start.y - now.y)) * now.shape.height}px`;
        return hide();
      }
      const found = nearest(now);
      if (found < 0) return hide();
      tip.textContent = Object.entries(data).map(([name, values]) => `${name}: ${figure(values[found])}`).join("\n");
      tip.hidden = false;
      const size = tip.getBoundingClientRect();
      tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - size.width - 8)}px`;
      tip.style.top = `${Math.max(8, event.clientY - size.height - 12)}px`;
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button) return;
      start = place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointerup", (event) => {
      const from = start;
      const to = place(event);
      start = null;
      box.hidden = true;
      const moved = from ? [Math.abs(to.x - from.x) * to.shape.width, Math.abs(to.y - from.y) * to.shape.height] : [0, 0];
      if (Math.max(...moved) < 6) {
        const found = nearest(to);
        if (found >= 0 && at.find[found]) search(at.find[found]);
        return;
      }
      const bound = (value) => Math.min(1, Math.max(0, value));
      const [left, right] = [from.x, to.x].map(bound).sort((a, b) => a - b);
      const [top, bottom] = moved[1] < 12 ? [0, 1] : [from.y, to.y].map(bound).sort((a, b) => a - b);
      if (right - left < 0.01 || bottom - top < 0.01) return;
      show([view[0] + left * view[2], view[1] + top * view[3], (right - left) * view[2], (bottom - top) * view[3]]);
    });
  };
  for (const [name, plot] of Object.entries(read("plots-data")))
    if (plot.axes) interact(document.getElementById(name), plot);

  // The list of groups: sorting, filtering, and showing their rows.
  const { columns, groups, total } = read("rows-data");
  const input = document.getElementById("search");
  const more = document.getElementById("more");
  const body = document.querySelector("#list tbody");
  const PAGE = 20;
  const list = [...body.rows].map((line) => {
    const { figures, rows } = groups[line.dataset.group];
    const texts = rows.map((row) => `${row[0]} ${row[6] ?? ""}`.toLowerCase());
    return { line, figures, rows, texts, head: line.querySelector(".prompt").textContent.toLowerCase(), open: null };
  });
  let order = list;
  let shown = PAGE;
  let filter = null;

  const inside = (value, [low, high]) => {
    const slack = 2e-6 * Math.max(Math.abs(low) < Infinity ? Math.abs(low) : 0, Math.abs(high) < Infinity ? Math.abs(high) : 0);
    return value !== null && value >= low - slack && value <= high + slack;
  };
  const range = (text) => {
    const [low, high] = text.includes("..") ? text.split("..") : [text, text];
    return [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
  };
  const numeric = (key) => (text) => ({ group: (one) => inside(one.figures[key], range(text)) });
  const ofRow = (place) => (text) => ({
    row: (row) => (text === "missing" ? row[place] === null : inside(row[place], range(text))),
  });
  const TERMS = {
    group: (text) => ({ group: (one) => one.line.dataset.group === text.replace("#", "") }),
    step: (text) => ({ group: (one) => one.figures.step === text }),
    state: (text) => ({ group: (one) => one.figures.state.split(/\W+/).includes(text) }),
    mean: numeric("mean"), std: numeric("std"), solved: numeric("solved"), size: numeric("size"),
    reward: ofRow(1), A: ofRow(2), tokens: ofRow(5),
  };
  const parsed = (text) => {
    const tests = [];
    const rest = text.replace(/(?<!\S)(\w+):(?:"([^"]*)"|(\S+))/g, (whole, name, quoted, plain) => {
      if (!Object.hasOwn(TERMS, name)) return whole;
      tests.push(TERMS[name](quoted ?? plain));
      return "";
    }).trim().toLowerCase();
    return { text: rest, group: tests.filter((one) => one.group), row: tests.filter((one) => one.row) };
  };
  const matching = (one) => {
    if (!filter) return one.rows.map((_, place) => place);
    if (!filter.group.every((test) => test.group(one))) return [];
    const head = !filter.text || one.head.includes(filter.text);
    const places = [...one.rows.keys()].filter((place) =>
      (head || one.texts[place].includes(filter.text)) && filter.row.every((test) => test.row(one.rows[place])));
    return places;
  };
  const rowsOf = (one) => {
    const wide = one.rows.some((row) => row[5] !== null);
    const told = one.rows.some((row) => row[6] !== null);
    const names = columns.filter((name) => name !== "kept" && (wide || name !== "tokens") && (told || name !== "text"));
    const table = make("table", "rows");
    const head = table.createTHead().insertRow();
    for (const name of names) head.append(Object.assign(make("th", name, name), { scope: "col" }));
    const lines = table.createTBody();
    for (const place of matching(one)) {
      const row = one.rows[place];
      const line = lines.insertRow();
      line.className = row[4] ? "row" : "row filtered";
      for (const name of names) {
        const value = row[columns.indexOf(name)];
        const cell = line.insertCell();
        if (name === "text") cell.append(make("div", "said", value));
        else cell.textContent = name === "processed" && !row[4] && row[2] !== null ? "filtered" : figure(value);
        cell.className = name === "row" ? "place" : name;
        if (name !== "row" && name !== "text") cell.dataset.label = name;
      }
    }
    const holder = make("tr", "of");
    const cell = holder.insertCell();
    cell.colSpan = one.line.cells.length;
    cell.append(table);
    if (one.figures.left) cell.append(make("p", "note", `${figure(one.figures.left)} more rows are not in this file.`));
    if (!told) cell.append(make("p", "note", "The responses of this group are not in this file: --texts N includes more."));
    return holder;
  };
  const toggle = (one, open) => {
    one.open?.remove();
    one.open = open ? rowsOf(one) : null;
    if (open) one.line.after(one.open);
    one.line.classList.toggle("open", open);
    one.line.querySelector("button").setAttribute("aria-expanded", String(open));
  };
  const apply = () => {
    const found = [];
    let rows = 0;
    for (const one of order) {
      const many = matching(one).length;
      if (many) found.push(one);
      rows += many;
    }
    const wanted = new Set(found);
    for (const one of order) if (!wanted.has(one)) toggle(one, false);
    body.append(...[...found, ...order.filter((one) => !wanted.has(one))].map((one) => one.line));
    order.forEach((one) => { one.line.hidden = true; });
    found.slice(0, shown).forEach((one) => { one.line.hidden = false; });
    found.forEach((one, place) => { if (one.open || (filter && found.length <= 3)) toggle(one, place < shown); });
    const plural = (many, noun) => `${figure(many)} ${noun}${many === 1 ? "" : "s"}`;
    const among = list.length < total ? `, of the ${plural(list.length, "group")} in this file` : "";
    document.getElementById("found").textContent = filter ? `${plural(rows, "row")} in ${plural(found.length, "group")}${among}` : "";
    more.hidden = found.length <= shown;
    more.textContent = `show all ${figure(found.length)} groups`;
  };
  const changed = () => {
    filter = input.value.trim() ? parsed(input.value) : null;
    shown = PAGE;
    list.forEach((one) => toggle(one, false));
    apply();
  };
  const search = (text) => {
    input.value = text;
    changed();
    document.getElementById("browse").scrollIntoView();
  };
  input.addEventListener("input", changed);
  more.addEventListener("click", () => { shown = Infinity; apply(); });
  body.addEventListener("click", (event) => {
    const one = list.find(({ line }) => line.contains(event.target));
    if (one) toggle(one, !one.open);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-find]");
    if (!link) return;
    event.preventDefault();
    search(input.value === link.dataset.find && link.tagName === "BUTTON" ? "" : link.dataset.find);
  });
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const numbers = a !== "" && b !== "" && !Number.isNaN(Number(a)) && !Number.isNaN(Number(b));
    return numbers ? Number(a) - Number(b) : String(a).localeCompare(String(b));
  };
  document.querySelector("#list thead").addEventListener("click", (event) => {
    const key = event.target.dataset.key;
    if (!key) return;
    const heading = event.target.closest("th");
    const way = heading.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
    document.querySelectorAll("#list thead [aria-sort]").forEach((one) => one.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    const value = (one) => one.figures[key];
    order = [...list].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return x === null || y === null ? compare(x, y) : sign * compare(x, y);
    });
    apply();
  });
  apply();
  document.body.dataset.ready = "yes";
})();
