"use strict";
(() => {
  const page = document.documentElement;
  const tip = document.getElementById("tip");

  // Light and dark: as the system has it until the button is pressed; nothing is stored.
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (page.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();

  // Legends: a button shows and hides one series, or all of one kind, in a group's plots.
  for (const legend of document.querySelectorAll(".plot-group > .legend")) {
    const set = legend.parentElement;
    const buttons = [...legend.querySelectorAll("button[data-k]")];
    const kinds = [...legend.querySelectorAll("button[data-kind]")];
    const isOn = (button) => button.getAttribute("aria-pressed") === "true";
    const groups = (button) => set.querySelectorAll(`svg.plot g[data-k="${button.dataset.k}"]`);
    const press = (button, on) => {
      button.setAttribute("aria-pressed", String(on));
      for (const group of groups(button)) group.classList.toggle("off", !on);
    };
    const nameKinds = () => {
      for (const kind of kinds) {
        const some = buttons.some((b) => b.dataset.of === kind.dataset.kind && isOn(b));
        kind.setAttribute("aria-pressed", String(some));
      }
    };
    legend.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const on = !isOn(button);
      const kind = button.dataset.kind;
      for (const b of kind ? buttons.filter((other) => other.dataset.of === kind) : [button]) press(b, on);
      nameKinds();
      light(null);
    });
    const light = (button) => {
      const some = button !== null && button.dataset.k !== undefined && isOn(button);
      for (const group of set.querySelectorAll("g.lit")) group.classList.remove("lit");
      set.classList.toggle("faded", some);
      if (some) for (const group of groups(button)) group.classList.add("lit");
    };
    legend.addEventListener("pointerover", (event) => light(event.target.closest("button")));
    legend.addEventListener("pointerleave", () => light(null));
  }

  // The text of a tooltip comes from the cell of the point in the table below. Columns before
  // data-lead name the series and its kind (data-names of them) and state facts such as its runs;
  // a table without data-lead has a row for each x and a column for each series.
  const texts = (cells) => [...cells].map((cell) => cell.textContent);
  const readTable = (table) => {
    const head = texts(table.tHead.rows[0].cells);
    const rows = [...table.tBodies[0].rows];
    const { lead, names } = table.dataset;
    if (!lead) return (i) => ({
      title: head[i + 1],
      facts: [],
      cells: rows.map((row) => ({ cell: row.cells[i + 1], x: `${head[0]} = ${row.cells[0].textContent}` })),
    });
    return (i) => {
      const said = texts(rows[i].cells).slice(0, lead);
      return {
        title: said.slice(0, names).filter(Boolean).join(", "),
        facts: said.slice(names).map((text, j) => [text, head[Number(names) + j]]),
        cells: [...rows[i].cells].slice(lead).map((cell, j) => ({ cell, x: head[Number(lead) + j] })),
      };
    };
  };
  const points = (svg) => {
    if (svg.points) return svg.points;
    const read = readTable(svg.parentElement.querySelector("table"));
    svg.points = [...svg.querySelectorAll("g[data-k]")].flatMap((group) => {
      const { title, facts, cells } = read(Number(group.dataset.row));
      const places = group.querySelector(".l:not(.bare)").getAttribute("d").slice(1).split(" ").map(Number);
      return cells.filter(({ cell }) => cell.textContent).map(({ cell, x }, i) => (
        { group, title, facts, cell, x, at: [places[2 * i], places[2 * i + 1]] }));
    });
    return svg.points;
  };
  const shown = (svg) => points(svg).filter((point) => !point.group.classList.contains("off"));
  const add = (name, text) => {
    const element = document.createElement(name);
    element.textContent = text;
    tip.append(element);
  };
  const describe = (point) => {
    const part = (selector) => point.cell.querySelector(selector)?.textContent;
    const { value, intervals } = point.group.closest(".plot-group").dataset;
    const number = (part("a") || point.cell.firstChild.textContent).replace(/[✓✗]/u, "").trim();
    const own = part("small")?.match(/^(\d+) (\w+)$/); // a fact of this point alone
    tip.replaceChildren();
    add("b", point.title);
    add("div", `${point.x}: ${value ? `${value} ` : ""}${number}`);
    if (part("i")) add("div", `${intervals}: ${part("i")}`);
    for (const [text, name] of point.facts) {
      const fact = own && own[2] === name ? own[1] : text;
      if (fact) add("div", `${fact} ${fact === "1" ? name.replace(/s$/, "") : name}`);
    }
    document.dispatchEvent(new CustomEvent("tip", { detail: { cell: point.cell, add } }));
  };
  let current = null;
  const hide = () => {
    tip.hidden = true;
    current = null;
    document.querySelector(".ring")?.remove();
  };
  const show = (svg, point) => {
    if (current === point) return;
    hide();
    current = point;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [name, value] of [["class", "ring"], ["r", 8], ["cx", point.at[0]], ["cy", point.at[1]]]) ring.setAttribute(name, value);
    svg.append(ring);
    describe(point);
    tip.hidden = false;
    place(svg);
  };
  const place = (svg) => {
    const at = new DOMPoint(...current.at).matrixTransform(svg.getScreenCTM());
    const left = at.x + 14 + tip.offsetWidth > innerWidth ? at.x - 14 - tip.offsetWidth : at.x + 14;
    const top = at.y - 12 - tip.offsetHeight < 4 ? at.y + 14 : at.y - 12 - tip.offsetHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${top}px`;
  };
  const nearest = (svg, event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null;
    let least = 22;
    for (const point of shown(svg)) {
      const distance = Math.hypot(point.at[0] - at.x, point.at[1] - at.y);
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const move = (svg, key) => {
    const all = shown(svg);
    if (!all.length) return;
    if (!all.includes(current)) { show(svg, all[0]); return; }
    const [down, right] = steps[key];
    const lines = [...new Set(all.map((point) => point.group))];
    const mine = all.filter((point) => point.group === current.group);
    if (right) {
      const next = mine[mine.indexOf(current) + right];
      if (next) show(svg, next);
      return;
    }
    const line = lines[(lines.indexOf(current.group) + down + lines.length) % lines.length];
    const others = all.filter((point) => point.group === line);
    show(svg, others.find((point) => point.x === current.x) || others[0]);
  };
  for (const svg of document.querySelectorAll("svg.plot")) {
    svg.setAttribute("tabindex", "0");
    const point = (event) => { const best = nearest(svg, event); best ? show(svg, best) : hide(); };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) move(svg, "ArrowRight"); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      if (!(event.key in steps)) return;
      event.preventDefault();
      move(svg, event.key);
    });
  }
  const follow = () => { if (current) place(current.group.ownerSVGElement); };
  addEventListener("scroll", follow, { passive: true });
  addEventListener("resize", follow);

  // Collapsed sections are expanded for printing.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });
})();
