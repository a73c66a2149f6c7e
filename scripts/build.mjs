// Builds the gateway and the inbox app into packages/gateway/dist, unless the current build is of these sources already.
// Needs Node 26 and the development dependencies.
//   node scripts/build.mjs           as npm ci and scripts/setup.mjs do
//   node scripts/build.mjs --prune   also deletes all earlier builds, as npm pack does
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { distFolder, isBuildCurrent, manifestFile, nameOfBuild, readManifest, root } from './dist.mjs';

/** A running server still loads parts of the build that it was started from. */
const keptBuilds = 5;
/** Another setup may be writing anything that is younger than this. */
const maxBuildMs = 60 * 60 * 1000;

const gatewaySource = join(root, 'packages/gateway/src');

/** Threads are started by `new URL('./thread.ts', import.meta.url)`: their programs become files of the build too. */
const programsStartedByUrl = {
  name: 'programs-started-by-url',
  transform(code, id) {
    if (!id.startsWith(gatewaySource)) return null;
    return code.replaceAll(/new URL\('(\.[^']+)\.ts', import\.meta\.url\)/g, (_, path) => {
      const program = resolve(dirname(id), path);
      const name = relative(gatewaySource, program).replaceAll('/', '-');
      const reference = this.emitFile({ type: 'chunk', id: `${program}.ts`, name });
      return `new URL(import.meta.ROLLUP_FILE_URL_${reference})`;
    });
  },
};

/**
 * Modules that the server shares with commands would become a chunk for each combination of them, some sixty files at
 * every start. They are in one file instead. Threads, and the command line before it knows the command, need little of it:
 * theirs are apart.
 */
function sharedChunks() {
  /** File → the modules whose imports it may contain; of several files, the first one has a module. */
  const entries = {
    thread: ['store/sqlite/thread.ts', 'store/search/thread.ts'],
    'parsing-thread': ['parsing/thread.ts'],
    command: ['cli/main.ts'],
    server: ['cli/serve.ts', 'main.ts'],
  };
  const imported = {};
  const plugin = {
    name: 'shared-chunks',
    buildEnd() {
      for (const [name, paths] of Object.entries(entries)) {
        const found = new Set();
        const visit = (id) => {
          if (found.has(id)) return;
          found.add(id);
          for (const each of this.getModuleInfo(id).importedIds) visit(each);
        };
        const ids = paths.map((path) => join(gatewaySource, path));
        for (const id of ids) visit(id);
        // Entries stay files of their own: the first one awaits the command, which must not import it.
        for (const id of ids) found.delete(id);
        imported[name] = found;
      }
    },
  };
  const groups = Object.keys(entries).map((name) => ({
    name: `${name}-shared`,
    minShareCount: 2,
    test: (id) => imported[name].has(id),
  }));
  return { plugin, groups };
}

/**
 * An import statement reads all exports of a module of Node, also those that Node loads on demand: `node:http` then loads
 * its WebSocket client with HTTP/2 and more. Without it, a server starts faster and needs 7 MB less.
 */
const nodeModulesOnDemand = {
  name: 'node-modules-on-demand',
  renderChunk(code) {
    return code.replaceAll(/^import (.+) from "([^"]+)";$/gm, (statement, names, specifier) =>
      isBuiltin(specifier) ? `const ${bindings(names, specifier)};` : statement,
    );
  },
};

/** `a, { b as c }` → `a = …, { b: c } = a`: a module of Node is its own default export. */
function bindings(names, specifier) {
  const [, whole, some] = /^(?:\* as )?([\w$]+)?(?:, )?(\{.*\})?$/.exec(names);
  const module = `process.getBuiltinModule("${specifier}")`;
  const all = whole === undefined ? [] : [`${whole} = ${module}`];
  if (some !== undefined) all.push(`${some.replaceAll(' as ', ': ')} = ${whole ?? module}`);
  return all.join(', ');
}

// Vite puts it into the code of the app.
process.env.NODE_ENV = 'production';
process.chdir(root);
mkdirSync(distFolder, { recursive: true });
if (!isBuildCurrent()) {
  writeManifest({ build: await build() });
  removeEarlier(keptBuilds - 1, maxBuildMs);
}
if (process.argv.includes('--prune')) removeEarlier(0, 0);

/** Returns the name of a finished build of the present sources. */
async function build() {
  const name = nameOfBuild();
  const finished = join(distFolder, name);
  // An earlier build of the same sources, as after a change of branches and back.
  if (existsSync(finished)) return name;
  const [{ rolldown }, vite] = [await loadTool('rolldown'), await loadTool('vite')];
  const folder = unfinishedPath();
  mkdirSync(folder);
  try {
    const chunks = await bundleGateway(rolldown, folder);
    const modules = [...modulesOf(chunks), ...(await buildInbox(vite, join(folder, 'web-app')))];
    writeFileSync(join(folder, 'chunks.json'), `${JSON.stringify(contentOf(chunks), null, 1)}\n`);
    writeFileSync(join(folder, 'licenses.txt'), licensesOf(modules));
    // A source that changed meanwhile may be in it or not.
    if (nameOfBuild() !== name) return await build();
    renameSync(folder, finished);
  } catch (error) {
    // A second setup may have finished the same build.
    if (!existsSync(finished)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return name;
}

async function bundleGateway(rolldown, dir) {
  const { plugin, groups } = sharedChunks();
  const bundle = await rolldown({
    input: { main: join(gatewaySource, 'cli/main.ts') },
    platform: 'node',
    logLevel: 'warn',
    plugins: [programsStartedByUrl, nodeModulesOnDemand, plugin],
  });
  const { output } = await bundle.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: { groups },
  });
  await bundle.close();
  return output;
}

async function buildInbox(vite, outDir) {
  const { output } = await vite.build({
    configFile: join(root, 'packages/inbox/vite.config.ts'),
    // The other loaders write a bundle of the configuration into node_modules.
    configLoader: 'native',
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  });
  return modulesOf(output);
}

async function loadTool(name) {
  try {
    return await import(name);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error(`Building Tocsin needs its development dependencies: run 'npm ci' without --omit=dev in ${root}.`);
    process.exit(1);
  }
}

function modulesOf(output) {
  return output.flatMap((chunk) => chunk.moduleIds ?? []);
}

/** File of the build → the source files in it, so that a test can report what a running server has loaded. */
function contentOf(chunks) {
  return Object.fromEntries(
    chunks.map(({ fileName, moduleIds = [] }) => [
      fileName,
      moduleIds.filter((id) => id.startsWith(root)).map((id) => relative(root, id)),
    ]),
  );
}

/** The build contains other people's packages: their licenses go with it, after our own. */
function licensesOf(modules) {
  const folders = new Set(modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]));
  folders.delete(undefined);
  const texts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...text].join('\n\n');
  });
  // Two copies of one package have one text.
  const sorted = [...new Set(texts)].sort();
  return [readFileSync(join(root, 'LICENSE'), 'utf8').trim(), ...sorted].join(`\n\n${'-'.repeat(80)}\n\n`).concat('\n');
}

/** By rename: a command that starts at this moment reads the old or the new one. */
function writeManifest(manifest) {
  const path = unfinishedPath();
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(path, manifestFile);
}

/** Not mkdtemp, whose folders are readable for their owner alone: the service may run as another user. */
function unfinishedPath() {
  return join(distFolder, `.unfinished-${randomUUID()}`);
}

/** Also removes the unfinished files of a build that was killed. */
function removeEarlier(kept, minAgeMs) {
  const used = [basename(manifestFile), readManifest().build];
  const earlier = readdirSync(distFolder)
    .filter((name) => !used.includes(name))
    .map((name) => ({ path: join(distFolder, name), ageMs: ageOf(join(distFolder, name)) }))
    .sort((one, other) => one.ageMs - other.ageMs);
  for (const { path, ageMs } of earlier.slice(kept)) {
    if (ageMs >= minAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

/** 0 if another setup has just renamed or removed it. */
function ageOf(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 0 : Date.now() - stats.mtimeMs;
}
