"use strict";
/* Tables sort by a click, Enter or Space on a heading: numbers as numbers, what is missing last. */
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => { if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.dataset.kind === "number";
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? Number(cell.dataset.value || NaN) : cell.textContent.trim();
      };
      const missing = (value) => numeric ? Number.isNaN(value) : value === "";
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
        return down ? -order : order;
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}
/* The side of a table where columns are hidden fades, and a line below says so. */
for (const box of document.querySelectorAll(".scroll")) {
  const mark = () => {
    const left = box.scrollWidth - box.clientWidth;
    box.classList.toggle("overflows", left > 2);
    box.classList.toggle("more-right", box.scrollLeft < left - 2);
    box.classList.toggle("more-left", left > 2 && box.scrollLeft > 2);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
  mark();
}
