// Runs the steps of a Dockerfile in folders instead of an image: COPY, RUN and the start command.
// For machines without a container builder; the base image is the machine itself.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, matchesGlob } from 'node:path';

interface Instruction {
  name: string;
  text: string;
}

interface Stage {
  name: string;
  base: string;
  instructions: Instruction[];
}

export interface PlayedImage {
  /** The folder that is / in the container. */
  root: string;
  base: string;
  environment: Record<string, string>;
  user: string;
  healthcheck: string[];
  stopSignal: string;
  volumes: string[];
  /** Starts the image as its user; `args` replace those of CMD. */
  run(environment?: Record<string, string>, args?: string[]): ChildProcess;
  /** Runs a command inside, as `docker exec` does. */
  exec(command: string[], environment?: Record<string, string>): ChildProcess;
  remove(): void;
}

const isRoot = process.getuid?.() === 0;
/** Node of the version of the base image, first on the path. */
const basePath = `${dirname(process.execPath)}:${process.env.PATH}`;

export function playDockerfile(context: string): PlayedImage {
  const stages = parseStages(readFileSync(join(context, 'Dockerfile'), 'utf8'));
  const ignores = readIgnores(context);
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-image-'));
  // The user of the image needs access to the folder.
  chmodSync(folder, 0o755);
  const rootOf = (stage: string): string => join(folder, stage);
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    for (const stage of stages) playStage(stage, context, ignores, rootOf);
  } catch (error) {
    remove();
    throw error;
  }
  const last = stages.at(-1);
  if (last === undefined) throw new Error('The Dockerfile has no stage.');
  return { ...describe(last, rootOf(last.name)), remove };
}

function parseStages(text: string): Stage[] {
  const stages: Stage[] = [];
  for (const line of text.split('\n')) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === '') continue;
    if (name === 'FROM') {
      const [, base = '', alias] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest) ?? [];
      stages.push({ name: alias ?? `stage-${stages.length}`, base, instructions: [] });
    } else stages.at(-1)?.instructions.push({ name, text: rest });
  }
  return stages;
}

function playStage(stage: Stage, context: string, ignores: Ignore[], rootOf: (stage: string) => string): void {
  const root = rootOf(stage.name);
  const workdir = join(root, textOf(stage, 'WORKDIR'));
  mkdirSync(workdir, { recursive: true });
  for (const { name, text } of stage.instructions) {
    if (name === 'RUN') {
      // The settings of the machine define how npm reaches its registry.
      const env = { ...process.env, PATH: basePath };
      execFileSync('sh', ['-c', inside(root, text)], { cwd: workdir, stdio: 'pipe', env });
    }
    if (name === 'COPY') copy(text, workdir, context, ignores, rootOf);
  }
}

function copy(
  text: string,
  workdir: string,
  context: string,
  ignores: Ignore[],
  rootOf: (stage: string) => string,
): void {
  const [, from] = /^--from=(\S+)\s/.exec(text) ?? [];
  const words = text.split(/\s+/).filter((word) => !word.startsWith('--'));
  const target = join(workdir, words.at(-1) ?? '');
  for (const source of words.slice(0, -1)) {
    const path = join(from === undefined ? context : rootOf(from), source);
    // Of a folder the content is copied; a target that ends with a slash is a folder.
    const to = statSync(path).isDirectory() ? target : join(target, basename(source));
    cpSync(path, to, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (each) =>
        from !== undefined || statSync(each).isDirectory() || !isIgnored(ignores, each.slice(context.length)),
    });
  }
}

interface Ignore {
  pattern: string;
  isException: boolean;
}

function readIgnores(context: string): Ignore[] {
  const lines = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ pattern: line.replace(/^!/, ''), isException: line.startsWith('!') }));
}

/** The last pattern that matches a path, or a folder above it, decides. */
function isIgnored(ignores: Ignore[], path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '');
  const ways = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  const decisive = ignores.findLast(({ pattern }) => ways.some((way) => matchesGlob(way, pattern)));
  return decisive !== undefined && !decisive.isException;
}

/** Absolute paths of the image are inside the folder that is its /. Only root can change the owner of a file. */
function inside(root: string, text: string): string {
  const moved = text.replaceAll(/(^|[\s=:"])\/(app|data)\b/g, `$1${root}/$2`);
  return isRoot ? moved : moved.replaceAll(/chown \d+:\d+/g, `chown ${process.getuid?.()}:${process.getgid?.()}`);
}

function textOf(stage: Stage, name: string): string {
  return stage.instructions.findLast((instruction) => instruction.name === name)?.text ?? '';
}

function describe(stage: Stage, root: string): Omit<PlayedImage, 'remove'> {
  const variables = stage.instructions.filter(({ name }) => name === 'ENV').map(({ text }) => text);
  const environment = Object.fromEntries(
    variables.map((text) => {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(text) ?? [];
      return [name, inside(root, value).replace('$PATH', basePath)];
    }),
  );
  const user = textOf(stage, 'USER');
  const [uid, gid] = user.split(':');
  const asUser = isRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : [];
  const cwd = join(root, textOf(stage, 'WORKDIR'));
  const exec: PlayedImage['exec'] = (command, more = {}) => {
    const [program = '', ...args] = [...asUser, ...command];
    return spawn(program, args, { cwd, env: { PATH: basePath, ...environment, ...more } });
  };
  const entrypoint = JSON.parse(textOf(stage, 'ENTRYPOINT')) as string[];
  const command = JSON.parse(textOf(stage, 'CMD')) as string[];
  return {
    root,
    base: stage.base,
    environment,
    user,
    healthcheck: JSON.parse(/CMD (\[.*\])$/.exec(textOf(stage, 'HEALTHCHECK'))?.[1] ?? '[]') as string[],
    stopSignal: textOf(stage, 'STOPSIGNAL'),
    volumes: textOf(stage, 'VOLUME').split(/\s+/),
    exec,
    run: (more, args = command) => exec([...entrypoint, ...args], more),
  };
}
