"use strict";
(() => {
  // The texts of certificates are compressed; they are unpacked when the first one is opened.
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

  // The tooltip of a number says what its certificate proves.
  document.addEventListener("tip", ({ detail: { cell, add } }) => {
    const link = cell.querySelector("a");
    if (!link) return;
    const [name, , epsilon, delta, claim] = document.getElementById(link.getAttribute("href").slice(1)).cells;
    add("div", `Certificate ${name.textContent}: ε = ${epsilon.textContent}, δ = ${delta.textContent}, ${claim.textContent}`);
  });
})();
