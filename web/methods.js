// Attention methods: one recommendation, and a table of what each costs.

import { post } from './api.js';
import { bytes, el, seconds } from './dom.js';
import { state } from './state.js';

export const shortName = (attention) => (attention || '').split(':')[0];

/** Numbers of all methods for a text of so many tokens: POST /v1/advise, or what /v1/forecast has of them. */
export async function advice(tokens) {
  const found = await post('v1/advise', { tokens, reply: 1024 });
  if (!found.data) {
    const names = [...new Set([found.attention || 'dense', ...state.methods.keys()])];
    const all = await Promise.allSettled(names.map((attention) => post('v1/forecast', { tokens, reply: 1024, attention })));  // some need files
    found.data = all.filter((one) => one.value).map((one) => one.value.data[0])
      .map((row) => ({ ...row, name: shortName(row.attention), recommended: row.attention === found.attention }));
  }
  return found;
}

function measuredText({ attention, measured }) {
  if (!measured) return measured === null ? 'not measured' : '';
  const setting = measured.attention && measured.attention !== attention ? ` as ${measured.attention}` : '';
  const right = `${Math.round(measured.score * 100)} % right (dense ${Math.round(measured.dense * 100)} %)`;
  return `${right}, ${measured.task}, ${measured.tokens.toLocaleString('en')} tokens, ${measured.model}${setting}`;
}

function fitText(row) {
  if (!row.fits) return { text: 'too large', kind: 'bad' };
  if (row.fits_now === false) return { text: 'waits for memory', kind: 'middling' };
  if (row.within_training === false) return { text: 'beyond training', kind: 'middling' };
  return { text: 'fits', kind: 'good' };
}

/** What a method keeps or harms, in its own words. */
const said = (word, text) => (text ? el('span', { class: word.toLowerCase() }, el('b', {}, `${word}: `), text.replaceAll('`', '')) : null);

function rowOf(row, group, chosen, pick) {
  const fit = fitText(row);
  const texts = state.methods.get(row.name || shortName(row.attention)) || {};
  const radio = el('input', { type: 'radio', name: group, value: row.attention, checked: row.attention === chosen, disabled: !row.fits,
    id: `${group}-${row.attention}`, on: { change: () => pick(row) } });
  return el('tr', { class: row.recommended ? 'recommended' : '' },
    el('th', { scope: 'row' }, el('label', { for: radio.id }, radio, el('span', { class: 'method-name' }, row.attention),
      row.recommended ? el('span', { class: 'tag' }, 'recommended') : null)),
    el('td', { data: { label: 'Memory' }, class: 'number' }, bytes(row.bytes)),
    el('td', { data: { label: 'Time' }, class: 'number' }, row.seconds ? seconds(row.seconds) : '–'),
    el('td', { data: { label: '' } }, el('span', { class: `fit ${fit.kind}` }, fit.text)),
    el('td', { data: { label: 'Passages' } }, row.sources === undefined ? '–' : row.sources ? 'yes' : 'no'),
    el('td', { class: 'what' },
      said('Keeps', row.keeps || texts.keeps || row.summary || texts.summary),
      said('Harms', row.harms || texts.harms),
      el('span', { class: 'measured' }, measuredText(row))));
}

/** A table to choose from. `pick(row)` is called with each choice. */
export function methodTable(found, chosen, pick, most = 4) {
  const group = `method-${Math.floor(performance.now())}`;
  const sorted = [...found.data].sort((a, b) => (b.recommended === true) - (a.recommended === true) || (b.fits === true) - (a.fits === true));
  const rows = sorted.map((row) => rowOf(row, group, chosen, pick));
  const body = el('tbody', {}, rows);
  rows.slice(most).forEach((row) => { row.hidden = true; });
  const unknown = [found.data.some((row) => row.seconds) ? '' : ' no-time', found.data.some((row) => row.sources !== undefined) ? '' : ' no-sources'].join('');
  const table = el('table', { class: `methods${unknown}` },
    el('caption', { class: 'for-ears' }, 'Attention methods for this text'),
    el('thead', {}, el('tr', {}, ['Method', 'Memory', 'Time to read', 'Fits', 'Passages', 'What it keeps, and what it harms'].map((name) => el('th', { scope: 'col' }, name)))),
    body);
  const more = rows.length > most ? el('button', { class: 'button quiet', type: 'button', on: {
    click: (event) => { rows.forEach((row) => { row.hidden = false; }); rows[most].querySelector('input:not(:disabled)')?.focus(); event.currentTarget.remove(); },
  } }, `All ${rows.length} methods`) : null;
  return el('div', { class: 'table-frame' }, table, more);
}

const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1).replace(/[^.!?]$/, '$&.') : '');

/** One sentence: which method, and why. */
export function recommendation(found) {
  if (!found.attention) {
    const fits = found.data.filter((row) => row.fits).map((row) => row.attention);
    return el('p', { class: 'advice bad' }, el('strong', {}, 'No method is recommended. '), sentence(found.why),
      fits.length ? ` These fit into the memory: ${fits.slice(0, 4).join(', ')}.` : '');
  }
  return el('p', { class: 'advice' }, el('strong', {}, `Recommended: ${found.attention}. `), sentence(found.why));
}

/** A dialog that asks for a method; resolves to its name, or null. */
export function chooseMethod(title, found, without) {
  return new Promise((done) => {
    let chosen = null;
    const data = found.data.filter((row) => row.attention !== without && shortName(row.attention) !== without);
    const go = el('button', { class: 'button primary', value: 'go', disabled: true }, 'Ask');
    const dialog = el('dialog', { class: 'dialog', 'aria-label': title },
      el('form', { method: 'dialog' }, el('h2', {}, title),
        methodTable({ data }, '', (row) => { chosen = row.attention; go.disabled = false; }, 6),
        el('div', { class: 'row end' }, el('button', { class: 'button', value: '' }, 'Cancel'), go)));
    dialog.addEventListener('close', () => { dialog.remove(); done(dialog.returnValue === 'go' ? chosen : null); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
