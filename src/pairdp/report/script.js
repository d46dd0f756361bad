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

  // Legends: a button shows and hides one series, or all of one kind, in an exhibit's plots.
  for (const exhibit of document.querySelectorAll(".exhibit")) {
    const legend = exhibit.querySelector(".legend");
    const buttons = [...legend.querySelectorAll("button[data-k]")];
    const kinds = [...legend.querySelectorAll("button[data-kind]")];
    const isOn = (button) => button.getAttribute("aria-pressed") === "true";
    const groups = (button) => exhibit.querySelectorAll(`svg.plot g[data-k="${button.dataset.k}"]`);
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
      for (const group of exhibit.querySelectorAll("g.lit")) group.classList.remove("lit");
      exhibit.classList.toggle("faded", some);
      if (some) for (const group of groups(button)) group.classList.add("lit");
    };
    legend.addEventListener("pointerover", (event) => light(event.target.closest("button")));
    legend.addEventListener("pointerleave", () => light(null));
  }

  // Tooltips: what a point stands for is read from its cell of the table below.
  const points = (svg) => {
    if (svg.points) return svg.points;
    const table = svg.parentElement.querySelector("table");
    const xs = [...table.tHead.rows[0].cells].slice(3).map((cell) => cell.textContent);
    const rows = [...table.tBodies[0].rows];
    svg.points = [...svg.querySelectorAll("g[data-k]")].flatMap((group) => {
      const row = rows[Number(group.dataset.row)];
      const filled = [...row.cells].slice(3).map((cell, i) => ({ cell, x: xs[i] })).filter((c) => c.cell.textContent);
      const places = group.querySelector(".l").getAttribute("d").slice(1).split(" ").map(Number);
      return filled.map(({ cell, x }, i) => ({ group, row, cell, x, at: [places[2 * i], places[2 * i + 1]] }));
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
    const link = point.cell.querySelector("a");
    const mean = (link || point.cell.firstChild).textContent.replace(/[✓✗]/u, "").trim();
    const runs = (part("small")?.match(/^(\d+) runs$/) || [])[1] || point.row.cells[2].textContent;
    tip.replaceChildren();
    add("b", `${point.row.cells[0].textContent}, ${point.row.cells[1].textContent}`);
    add("div", `${point.x}: mean ${mean}`);
    if (part("i")) add("div", `95 % interval: ${part("i")}`);
    if (runs) add("div", runs === "1" ? "1 run" : `${runs} runs`);
    if (!link) return;
    const cells = document.getElementById(link.getAttribute("href").slice(1)).cells;
    add("div", `Certificate ${cells[0].textContent}: ε = ${cells[2].textContent}, δ = ${cells[3].textContent}, ${cells[4].textContent}`);
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

  // Certificates: their texts are compressed, and unpacked when the first one is asked for.
  let texts = null;
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("packed").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };
  const dialog = document.getElementById("certificate");
  const save = document.getElementById("save");
  const open = async (name) => {
    texts = texts || unpack();
    const { statement, document: sealed } = (await texts)[name];
    dialog.querySelector("h2").textContent = `Certificate ${name}`;
    dialog.querySelector("pre").textContent = statement;
    save.hidden = !sealed;
    if (sealed) {
      URL.revokeObjectURL(save.href);
      save.href = URL.createObjectURL(new Blob([sealed], { type: "application/json" }));
      save.download = `certificate-${name}.json`;
    }
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#c']");
    const name = link?.getAttribute("href").slice(1);
    if (!name || !/^c\d+$/.test(name) || typeof DecompressionStream === "undefined") return;
    event.preventDefault();
    open(name);
  });
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  // Paper shows what is folded on the screen.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });
})();
