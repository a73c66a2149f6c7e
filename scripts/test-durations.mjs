// How long each test file took the last time, so that the longest start first and none of them runs alone at the end.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const folder = resolve('node_modules/.cache');
const record = resolve(folder, 'test-durations.json');
const shown = 15;

/** Returns absolute paths. Files that have not run yet come first. */
export function longestFirst(files) {
  const known = read();
  const order = (file) => known[file] ?? Number.POSITIVE_INFINITY;
  return files
    .toSorted()
    .sort((a, b) => (order(a) === order(b) ? 0 : order(b) - order(a)))
    .map((file) => resolve(file));
}

/** Keeps what is known of files that did not run this time. `durations` maps absolute paths to milliseconds. */
export function saveDurations(durations) {
  const named = [...durations].map(([file, ms]) => [relative('', file), Math.round(ms)]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(record, `${JSON.stringify({ ...read(), ...Object.fromEntries(named) }, null, 1)}\n`);
}

export function describeSlowest(durations) {
  const sorted = [...durations].sort(([, a], [, b]) => b - a);
  const total = sorted.reduce((sum, [, ms]) => sum + ms, 0);
  const heading = `\nSlowest of ${sorted.length} test files (${seconds(total)} s one after the other):\n`;
  const lines = sorted.slice(0, shown).map(([file, ms]) => `${seconds(ms).padStart(6)} s  ${relative('', file)}\n`);
  return heading + lines.join('');
}

function read() {
  try {
    return JSON.parse(readFileSync(record, 'utf8'));
  } catch {
    return {};
  }
}

function seconds(ms) {
  return (ms / 1000).toFixed(1);
}
