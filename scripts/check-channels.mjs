// Checks that channels are values: no source file outside the registry, the contract's flat fields and the folders of the
// channels names two channels. A file names a channel where the name is a string, a property, a parameter or a variable in
// its syntax tree, or where it imports from the folder of the channel. The method `push` of arrays does not count; `email`
// counts only as a string, since it is also the address of an owner. The folder of a channel has the name of the channel.
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const folder = 'packages/gateway/src/channels';
const names = globSync(`${folder}/*/index.ts`, { cwd: root }).map((file) => file.split(sep).at(-2));

/** The files that may name several channels, and what they are. */
const allowed = {
  [`${folder}/registry.ts`]: 'the one list',
  'packages/contract/src/types.ts': 'the flat fields of the contract',
  'packages/contract/src/report.ts': 'their order in a response',
  'packages/contract/src/openapi.ts': 'their description',
  'packages/inbox/src/channels.ts': 'the icons of the channels that the app knows',
  'packages/inbox/src/text/en/channels.ts': 'their texts',
};

/** Name → line of the first mention. */
function namesIn(file) {
  const source = readFileSync(join(root, file), 'utf8');
  const found = new Map();
  const add = (name, { start }) => {
    if (names.includes(name) && !found.has(name)) found.set(name, source.slice(0, start).split('\n').length);
  };
  const visit = (node, parent, grandparent) => {
    if (node.type === 'Literal' && typeof node.value === 'string') {
      add(node.value, node);
      if (/^(Import|Export)/.test(parent.type)) add(/channels\/([^/]+)\//.exec(node.value)?.[1], node);
    } else if (node.type === 'TemplateElement') add(node.value.cooked, node);
    else if (node.type === 'Identifier' && node.name !== 'email') {
      const isMethodCall =
        parent.type === 'MemberExpression' && parent.property === node && grandparent?.type === 'CallExpression';
      if (!isMethodCall) add(node.name, node);
    }
    for (const child of Object.values(node).flat()) {
      if (typeof child?.type === 'string') visit(child, node, parent);
    }
  };
  const program = parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file);
  visit(program, program);
  return found;
}

const files = globSync('packages/{contract,gateway,inbox}/src/**/*.{ts,tsx}', { cwd: root }).filter(
  (file) =>
    !/\.test\.tsx?$/.test(file) && !(file in allowed) && !names.some((name) => file.startsWith(`${folder}/${name}/`)),
);
const severalNames = files.flatMap((file) => {
  const found = [...namesIn(file)];
  return found.length < 2 ? [] : [`${file}: ${found.map(([name, line]) => `${name} (line ${line})`).join(', ')}`];
});
const otherNames = names
  .map((name) => ({ name, file: `${folder}/${name}/index.ts` }))
  .filter(({ name, file }) => !readFileSync(join(root, file), 'utf8').includes(`name: '${name}'`))
  .map(({ name, file }) => `${file}: expected the name '${name}', that of the folder`);

function report(heading, problems) {
  if (problems.length === 0) return;
  console.error(heading);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}

if (names.length < 2) throw new Error(`No channels found below ${join(root, folder)}`);
report(
  'These files name several channels. Iterate over the registry, or move the code into a channel folder:',
  severalNames,
);
report('These channels have another name than their folder. Rename one of the two:', otherNames);
