"use strict";
// A click on a column's title sorts the table by it; a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, column) => {
    title.querySelector("button").addEventListener("click", () => {
      const numeric = title.classList.contains("number");
      const now = title.getAttribute("aria-sort");
      const descending = now === null ? numeric : now === "ascending";
      const value = (row) => row.cells[column].dataset.value;
      const compare = (a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // nothing known: last in either order
        const order = numeric ? x - y : x.localeCompare(y);
        return descending ? -order : order;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
      titles.forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", descending ? "descending" : "ascending");
    });
  });
}
