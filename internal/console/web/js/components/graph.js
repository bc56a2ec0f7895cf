// @ts-check
// A sequence drawn over the days on which it happens. The times come from the server. Without them
// the
// steps stand in their order.
import { html, svg } from '../dom.js';
import { day, isoDay, time } from '../format.js';
import { session } from '../state.js';
import { number } from '../text.js';

/** @typedef {{index: number, label: string, isTask: boolean, at: string | null}} Node */
/** @typedef {{from: number, to: number, label: string}} Edge */

const dayWidth = 132;
const laneHeight = 56;
const top = 44;
const oneDay = 24 * 60 * 60 * 1000;

/**
 * @param {{
 *   nodes: Node[],
 *   edges: Edge[],
 *   selected: number,
 *   onSelect: (index: number) => void,
 * }} options
 */
export function graph({ nodes, edges, selected, onSelect }) {
  const { columns, xOf } = nodes.every((node) => node.at) ? byDay(nodes) : byOrder(nodes, edges);
  const names = new Map(
    nodes.map((node) => [
      node.index,
      boxOf(
        `${node.index + 1} ${shortened(node.label)}${node.at ? ` ${time(node.at)}` : ''}`,
        xOf(node.index),
        0,
        'middle',
      ),
    ]),
  );
  const laneOf = lanes(nodes, edges, names, xOf);
  const height = top + (Math.max(0, ...laneOf.values()) + 1) * laneHeight + 8;
  const y = (/** @type {number} */ index) => top + (laneOf.get(index) || 0) * laneHeight + 20;
  const taken = [...names].flatMap(([index, name]) => [
    { ...name, y: y(index) + 24 },
    { left: xOf(index) - 9, right: xOf(index) + 9, y: y(index) },
  ]);
  const waits = edges.map((e) => place(e, xOf(e.from), xOf(e.to), y(e.to), taken));
  const width = Math.max(columns.length * dayWidth + 40, ...taken.map((box) => box.right + 8));
  return html`<div
    class="scroll-x graph"
    tabindex="0"
    role="group"
    aria-label="The sequence on a time line"
  >
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}>
      <defs>
        <pattern
          id="hatch"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect class="fill-line" width="1.5" height="6"></rect>
        </pattern>
      </defs>
      ${columns.map((column, i) => dayMark(column, i, height))}
      ${edges.map(
        (e) =>
          svg`<path class="stroke" d=${`M${xOf(e.from)} ${y(e.from)}V${y(e.to)}H${xOf(e.to)}`}></path>`,
      )}
      ${waits.map((box) => svg`<text class="halo" x=${box.left} y=${box.y}>${box.text}</text>`)}
      ${nodes.map((node) =>
        nodeMark(node, {
          x: xOf(node.index),
          y: y(node.index),
          name: names.get(node.index),
          isSelected: node.index === selected,
          select: () => onSelect(node.index),
          onKey: (event) => walk(event, node.index, edges),
        }),
      )}
    </svg>
  </div>`;
}

/** Moves the focus with the arrow keys. @param {KeyboardEvent} event @param {number} index @param {Edge[]} edges */
function walk(event, index, edges) {
  const next = {
    ArrowRight: edges.find((e) => e.from === index)?.to,
    ArrowLeft: edges.find((e) => e.to === index)?.from,
    ArrowDown: index + 1,
    ArrowUp: index - 1,
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  /** @type {HTMLElement | null} */ (document.querySelector(`[data-step="${next}"]`))?.focus();
}

/** A day behind the graph. @param {{label: string, isOff: boolean}} column @param {number} i @param {number} height */
const dayMark = (column, i, height) =>
  svg`<g>
      <rect x=${i * dayWidth} y="28" width=${dayWidth} height=${height}
        fill=${column.isOff ? 'url(#hatch)' : 'none'}></rect>
      <path class="stroke-line" d=${`M${i * dayWidth} 0V${height}`}></path>
      <text x=${i * dayWidth + 8} y="18">${column.label}</text>
    </g>`;

/**
 * A step, which can be selected.
 * @param {Node} node
 * @param {{
 *   x: number,
 *   y: number,
 *   name: {left: number, text: string} | undefined,
 *   isSelected: boolean,
 *   select: () => void,
 *   onKey: (event: KeyboardEvent) => void,
 * }} options
 */
const nodeMark = (node, { x, y, name, isSelected, select, onKey }) =>
  svg`<g class="node" data-step=${node.index} tabindex="0" role="button"
      aria-pressed=${String(isSelected)}
      aria-label=${`${node.index + 1} ${node.label}${node.at ? ` ${day(node.at)} ${time(node.at)}` : ''}`}
      @click=${select} @keydown=${(e) => {
        if (e.key === 'Enter' || e.key === ' ') {
          e.preventDefault();
          select();
        } else onKey(e);
      }}>
      <circle class=${node.isTask ? 'fill-none' : 'fill-accent'}
        cx=${x} cy=${y} r=${isSelected ? 9 : 7}></circle>
      <text class="strong halo" x=${name?.left} y=${y + 24}>${name?.text}</text>
    </g>`;

/** A label that has room. @param {string} label */
const shortened = (label) => (label.length > 24 ? `${label.slice(0, 23)}…` : label);

const measure = /** @type {CanvasRenderingContext2D} */ (
  document.createElement('canvas').getContext('2d')
);

/**
 * Where a text stands.
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {string} anchor
 */
function boxOf(text, x, y, anchor) {
  measure.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const size = measure.measureText(text).width;
  const left = Math.max(4, anchor === 'end' ? x - size : anchor === 'middle' ? x - size / 2 : x);
  return { text, left, right: left + size, y };
}

/**
 * Finds room for how long an edge waits, beside its ends.
 * @param {Edge} e
 * @param {number} from
 * @param {number} to
 * @param {number} line
 * @param {{left: number, right: number, y: number}[]} taken
 */
function place(e, from, to, line, taken) {
  const spots = [7, 20].flatMap((up) => [
    boxOf(e.label, from + 14, line - up, 'start'),
    boxOf(e.label, from - 6, line - up, 'end'),
    boxOf(e.label, to - 14, line - up, 'end'),
    boxOf(e.label, to + 14, line - up, 'start'),
  ]);
  const box =
    spots.find(
      (spot) =>
        !taken.some(
          (b) => spot.left < b.right + 4 && b.left < spot.right + 4 && Math.abs(spot.y - b.y) < 13,
        ),
    ) || spots[0];
  taken.push(box);
  return box;
}

/** @param {Node[]} nodes @param {Edge[]} edges */
function byOrder(nodes, edges) {
  /** @type {Map<number, number>} */
  const depth = new Map();
  const of = (/** @type {number} */ index, seen = 0) => {
    if (!depth.has(index))
      depth.set(
        index,
        seen > nodes.length
          ? 0
          : Math.max(-1, ...edges.filter((e) => e.to === index).map((e) => of(e.from, seen + 1))) +
              1,
      );
    return depth.get(index) || 0;
  };
  const most = Math.max(0, ...nodes.map((node) => of(node.index)));
  return {
    columns: Array.from({ length: most + 1 }, () => ({ label: '', isOff: false })),
    xOf: (/** @type {number} */ index) => of(index) * dayWidth + dayWidth / 2,
  };
}

/** A column for each day. Many days without a step are one column. @param {Node[]} nodes */
function byDay(nodes) {
  const times = new Map(nodes.map((node) => [node.index, new Date(node.at || 0)]));
  const days = [...new Set([...times.values()].map(isoDay))].sort();
  /** @type {{date: string, label: string, isOff: boolean}[]} */
  const columns = [];
  for (const [i, date] of days.entries()) {
    const before = i ? Date.parse(days[i - 1]) : Date.parse(date) - oneDay;
    const gap = Math.round((Date.parse(date) - before) / oneDay) - 1;
    if (gap > 3) columns.push({ date: '', label: `${number(gap)} days`, isOff: true });
    else
      for (let d = 1; d <= gap; d++)
        columns.push(columnOf(new Date(before + d * oneDay).toISOString().slice(0, 10)));
    columns.push(columnOf(date));
  }
  return {
    columns,
    xOf: (/** @type {number} */ index) => {
      const at = times.get(index) || 0;
      const [hours, minutes] = time(at).split(':').map(Number);
      return (
        columns.findIndex((column) => column.date === isoDay(at)) * dayWidth +
        44 +
        ((hours * 60 + minutes) / (24 * 60)) * (dayWidth - 56)
      );
    },
  };
}

/** @param {string} date */
function columnOf(date) {
  const { business_days: business = [], holidays = [] } = session.organization || {};
  const weekday = new Date(`${date}T12:00:00Z`).getUTCDay() || 7;
  return {
    date,
    label: day(`${date}T12:00:00Z`),
    isOff: !business.includes(weekday) || holidays.includes(date),
  };
}

/**
 * A step keeps the lane of the one before it, unless its name would cover another there.
 * @param {Node[]} nodes
 * @param {Edge[]} edges
 * @param {Map<number, {left: number, right: number}>} names
 * @param {(index: number) => number} xOf
 */
function lanes(nodes, edges, names, xOf) {
  /** @type {Map<number, number>} */
  const laneOf = new Map();
  /** @type {{left: number, right: number}[][]} */
  const taken = [];
  for (const node of [...nodes].sort((a, b) => xOf(a.index) - xOf(b.index) || a.index - b.index)) {
    const from = edges.find((e) => e.to === node.index && laneOf.has(e.from));
    let lane = from ? laneOf.get(from.from) || 0 : 0;
    const name = names.get(node.index) || { left: 0, right: 0 };
    while (taken[lane]?.some((other) => name.left < other.right + 8 && other.left < name.right + 8))
      lane++;
    (taken[lane] ||= []).push(name);
    laneOf.set(node.index, lane);
  }
  return laneOf;
}
