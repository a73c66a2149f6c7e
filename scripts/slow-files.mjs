// A reporter for node:test: how long each test file took, the slowest first.
const shown = 15;

// biome-ignore lint/style/noDefaultExport: node:test loads a reporter by its default export
export default async function* slowFiles(source) {
  const files = [];
  for await (const { type, data } of source) {
    // Without a file it is the summary of the whole run.
    if (type === 'test:summary' && data.file !== undefined) files.push(data);
  }
  files.sort((a, b) => b.duration_ms - a.duration_ms);
  const total = files.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  yield `\nSlowest of ${files.length} test files (${seconds(total)} s one after the other):\n`;
  for (const { file, duration_ms } of files.slice(0, shown)) {
    yield `${seconds(duration_ms).padStart(6)} s  ${file.replace(`${process.cwd()}/`, '')}\n`;
  }
}

function seconds(ms) {
  return (ms / 1000).toFixed(1);
}
