// Elements, and numbers as people read them. All text becomes text nodes, never markup.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name === 'on') for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (name === 'data') Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

/** A line drawing on a field of 20 × 20. */
export function icon(path) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  plus: 'M10 4v12M4 10h12', close: 'M5 5l10 10M15 5L5 15', send: 'M10 16V4M5 9l5-5 5 5', stop: 'M6 6h8v8H6z',
  again: 'M15.5 8A6 6 0 1 0 16 11M16 4v4h-4', edit: 'M4 16l1-4 8-8 3 3-8 8zM11.5 5.5l3 3',
  copy: 'M7 7h9v9H7zM4 13V4h9', bin: 'M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6', left: 'M12 5l-5 5 5 5',
  right: 'M8 5l5 5-5 5', save: 'M10 4v8M6.5 9l3.5 3.5L13.5 9M4 16h12', beside: 'M4 4h5v12H4zM11 4h5v12h-5z',
  page: 'M5 3.5h7l3 3v10H5zM12 3.5v3h3', map: 'M3 15h14M4 12V8M8 12V5M12 12V9M16 12V6',
};

export function iconButton(name, label, click, more = {}) {
  return el('button', { class: 'icon-button', type: 'button', 'aria-label': label, title: label, on: { click }, ...more },
    icon(ICONS[name]));
}

export function button(label, click, props = {}) {
  return el('button', { type: 'button', class: 'button', on: { click }, ...props }, label);
}

export const count = (n) => Math.round(n).toLocaleString('en');
export const countOf = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (n >= 1000 && unit < 4) { n /= 1000; ++unit; }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

export function seconds(s) {
  if (s === null || s === undefined) return '–';
  if (s < 1) return `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return `${(s / 3600).toFixed(1)} h`;
}

export const percent = (share) => `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;

/** What a screen reader says next. */
export function say(text) {
  const live = document.getElementById('live');
  if (live.textContent !== text) live.textContent = text;
}

/** Calls `f` once before the next frame, however often it is asked to. */
export function eachFrame(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; f(); });
  };
}

/** Replaces the children of `parent` if they differ. The focus stays where it was. */
export function renew(parent, ...children) {
  const fresh = el('div', {}, ...children);
  const same = parent.childNodes.length === fresh.childNodes.length && [...parent.childNodes].every((old, i) => old.isEqualNode(fresh.childNodes[i]));
  if (same) return;
  const nameOf = (node) => node.getAttribute('href') || node.getAttribute('aria-label') || node.textContent;
  const focused = parent.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  parent.replaceChildren(...fresh.childNodes);
  if (focused) [...parent.querySelectorAll('a, button')].find((node) => nameOf(node) === focused)?.focus({ preventScroll: true });
}

export function clear(node) { node.replaceChildren(); return node; }
