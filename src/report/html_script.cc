#include "report/html_script.h"

namespace longhaul {

std::string_view page_script() {
  return R"JS((() => {
const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
// Filter: what belongs to one method (data-m) is shown where its name holds one of the words.
const box = document.getElementById('filter');
const filter = () => {
  const words = box.value.toLowerCase().split(/[ ,]+/).filter(word => word);
  for (const part of all('[data-m]')) {
    const name = part.dataset.m.toLowerCase();
    part.hidden = words.length > 0 ? words.every(word => name.indexOf(word) === -1) : false;
  }
};
if (box) {
  box.addEventListener('input', filter);
  box.closest('.tools').hidden = false;
  if (box.value) filter();
}
// Sorting: by the clicked column, better values first, the other way at the next click.
const key = cell => cell.dataset.v === undefined ? (cell.tagName === 'TH' || cell.classList.contains('text') ?
  cell.textContent : null) : Number(cell.dataset.v);
const compare = (a, b, sign) => {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === 'string') return sign * a.localeCompare(b, 'en', {numeric: true});
  return sign * (a - b);
};
for (const head of all('th[data-first]')) {
  const sort = () => {
    const now = head.getAttribute('aria-sort');
    const other = now === 'ascending' ? 'descending' : 'ascending';
    const order = now ? other : head.dataset.first;
    for (const cell of all('th', head.parentElement)) cell.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', order);
    for (const body of all('tbody', head.closest('table'))) {
      const rows = all('tr', body).map(row => [key(row.cells[head.cellIndex]), row]);
      rows.sort((a, b) => compare(a[0], b[0], order === 'ascending' ? 1 : -1));
      for (const row of rows) body.append(row[1]);
    }
  };
  head.tabIndex = 0;
  head.addEventListener('click', sort);
  head.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    sort();
  });
}
document.documentElement.classList.add('scripted');
})();
)JS";
}

}  // namespace longhaul
