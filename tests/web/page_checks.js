// Checks that a test runs inside the page: names of controls, contrast of texts, width.
(() => {
  const visible = (node) => node.checkVisibility({ opacityProperty: false, visibilityProperty: true }) && node.getClientRects().length > 0;
  const parse = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    if (colour.startsWith('color(srgb')) return [...parts.slice(0, 3).map((x) => x * 255), parts[3] ?? 1];
    return [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor)[3] ? parse(getComputedStyle(document.documentElement).backgroundColor) : [255, 255, 255, 1];
  };
  const problems = [];
  const name = (node) => `${node.tagName.toLowerCase()}.${node.className} "${(node.textContent || '').trim().slice(0, 40)}"`;

  for (const node of document.querySelectorAll('button, a, input, select, textarea, [role=slider], canvas[role=img], progress, dialog')) {
    if (!visible(node)) continue;
    const labels = node.labels ? [...node.labels].map((label) => label.textContent).join('') : '';
    const named = node.getAttribute('aria-labelledby') && document.getElementById(node.getAttribute('aria-labelledby'))?.textContent;
    if (!(node.getAttribute('aria-label') || named || labels.trim() || (/BUTTON|A/.test(node.tagName) && node.textContent.trim()))) problems.push(`without a name: ${name(node)}`);
  }
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
    if (!own || !visible(node) || node.closest('.for-ears, .skip, noscript, option') || node.disabled) continue;
    if (Number(getComputedStyle(node).opacity) < 1 && node.matches(':disabled')) continue;
    const style = getComputedStyle(node);
    const front = light(parse(style.color));
    const back = light(behind(node));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${name(node)}`);
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push(`the page is ${wide} pixels wide in a window of ${innerWidth}`);
  for (const node of document.querySelectorAll('body *')) {
    if (!visible(node) || node.closest('.for-ears, .skip, pre, canvas, svg')) continue;
    const box = node.getBoundingClientRect();
    if (box.right > innerWidth + 1 && box.width > 1) problems.push(`reaches to ${Math.round(box.right)} of ${innerWidth}: ${name(node)}`);
  }
  for (const heading of [document.querySelectorAll('h1')]) if (heading.length !== 1) problems.push(`${heading.length} headings of the first level`);
  return problems;
})()
