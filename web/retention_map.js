// Which tokens a method keeps: layers and heads from top to bottom, the text from left to right.

import { get } from './api.js';
import { count, el, percent } from './dom.js';

const average = (numbers) => numbers.reduce((sum, value) => sum + value, 0) / Math.max(1, numbers.length);

/** The map of a document, or null if it is not ready. */
export async function loadMap(id) {
  try {
    const map = await get(`v1/documents/${id}/map`);
    map.rows = map.kept.flat();
    map.byBin = Array.from({ length: map.bins }, (_, bin) => average(map.rows.map((row) => row[bin])));
    map.share = average(map.byBin);
    return map;
  } catch {
    return null;
  }
}

/** Shares of the bins that hold the text itself, without the template around it. */
export function textBins(map) {
  const from = map.text_from ?? 0;
  const to = map.text_to ?? map.tokens;
  const bins = Math.min(map.bins, 512);
  return Array.from({ length: bins }, (_, i) => {
    const token = from + (i + 0.5) * (to - from) / bins;
    return map.byBin[Math.min(map.bins - 1, Math.floor(token * map.bins / map.tokens))];
  });
}

/** Where in the text a bin is, from 0 to 1. */
function shareOfBin(map, bin) {
  const from = map.text_from ?? 0;
  const to = map.text_to ?? map.tokens;
  return Math.min(1, Math.max(0, ((bin + 0.5) * map.tokens / map.bins - from) / Math.max(1, to - from)));
}

function rgb(name) {
  const probe = el('i', { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return found;
}

function paint(canvas, map) {
  canvas.width = map.bins;
  canvas.height = map.rows.length;
  const context = canvas.getContext('2d');
  const image = context.createImageData(map.bins, map.rows.length);
  const low = rgb('--paper-deep');
  const high = rgb('--kept');
  map.rows.forEach((row, y) => row.forEach((share, x) => {
    const at = 4 * (y * map.bins + x);
    for (let c = 0; c < 3; ++c) image.data[at + c] = low[c] + (high[c] - low[c]) * Math.sqrt(share);
    image.data[at + 3] = 255;
  }));
  context.putImageData(image, 0, 0);
}

/** The panel. `jump(share)` shows that part of the text. */
export function mapPanel(map, jump) {
  if (!map) return el('div', { class: 'map' }, el('p', { class: 'note' }, 'The map is there once the document has been read.'));
  const all = map.share > 0.9995;
  const summary = all ? `${map.attention} keeps the keys of all ${count(map.tokens)} tokens.`
    : `${map.attention} keeps ${percent(map.share)} of the keys of ${count(map.tokens)} tokens, in ${count(map.layers)} layers with ${count(map.heads)} heads.`;
  const told = el('p', { class: 'note', 'aria-live': 'off' }, all ? '' : 'Coloured: kept. Point at the map for one head, click to read that part.');
  const canvas = el('canvas', { role: 'img', 'aria-label': `Retention map: ${summary}` });
  canvas.style.height = `${Math.max(48, Math.min(240, map.rows.length * 3))}px`;
  paint(canvas, map);
  const binAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return { bin: Math.min(map.bins - 1, Math.floor((event.clientX - box.left) / box.width * map.bins)),
      row: Math.min(map.rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * map.rows.length))) };
  };
  canvas.addEventListener('pointermove', (event) => {
    const { bin, row } = binAt(event);
    told.textContent = `Layer ${Math.floor(row / map.heads)}, head ${row % map.heads}, ${Math.round(100 * shareOfBin(map, bin))} % into the text: ${percent(map.rows[row][bin])} kept`;
  });
  canvas.addEventListener('click', (event) => jump(shareOfBin(map, binAt(event).bin)));
  return el('div', { class: 'map' }, el('p', {}, summary), all ? null : canvas,
    all ? null : el('p', { class: 'axis' }, el('span', {}, 'beginning of the text'), el('span', {}, 'end')), told);
}
