// The reference deployment of deploy/ without containers: the same files, on free ports of this machine.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { eventually } from './eventually.ts';
import { type GatewayProcess, Installation } from './gateway-process.ts';
import { findFreePort } from './mosquitto.ts';
import { Nginx } from './nginx.ts';
import { Postgres } from './postgres.ts';
import type { ResponseBody } from './requests.ts';
import { createTestAuthority, type TestAuthority } from './tls-ca.ts';

export const clone = fileURLToPath(new URL('../../../', import.meta.url));
export const nodeNames = ['tocsin-1', 'tocsin-2'] as const;
export type NodeName = (typeof nodeNames)[number];

export interface ComposeService {
  environment?: Record<string, unknown>;
  ports?: string[];
  volumes?: string[];
  secrets?: string[];
  depends_on?: Record<string, { condition: string }>;
  networks?: Record<string, { ipv4_address?: string } | null> | string[];
  user?: string;
}

export interface Compose {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  secrets?: Record<string, { file: string }>;
}

export function readCompose(path: string): Compose {
  return parse(readFileSync(join(clone, path), 'utf8'), { merge: true }) as Compose;
}

export function addressOf({ networks }: ComposeService): string {
  return (Array.isArray(networks) ? undefined : networks?.front?.ipv4_address) ?? '';
}

export interface BalancedAnswer {
  status: number;
  body: ResponseBody | null;
  /** Empty if none was set. */
  cookie: string;
}

interface Node {
  port: number;
  installation: Installation;
  gateway: GatewayProcess;
}

/** Text of the deployment → its replacement in the tests. Each text must occur. */
function substitute(content: string, changes: Record<string, string>): string {
  let result = content;
  for (const [from, to] of Object.entries(changes)) {
    if (!result.includes(from)) throw new Error(`There is no ${from} in:\n${content}`);
    result = result.replaceAll(from, to);
  }
  return result;
}

export class ReferenceDeployment {
  readonly compose = readCompose('deploy/compose.cluster.yaml');
  readonly folder = mkdtempSync(join(tmpdir(), 'tocsin-deployment-'));
  readonly #stack = new AsyncDisposableStack();
  readonly #nodes = new Map<NodeName, Node>();
  readonly #authority: TestAuthority = createTestAuthority();
  readonly #agent = new Agent({ ca: this.#authority.ca, keepAlive: true, maxSockets: 16 });
  readonly #mqttPorts = { nodes: 0, devices: 0 };
  #balancer: Nginx | null = null;
  #inboxPort = 0;
  #broker: ChildProcess | null = null;

  static async start(): Promise<ReferenceDeployment> {
    const deployment = new ReferenceDeployment();
    try {
      await deployment.#start();
      return deployment;
    } catch (error) {
      await deployment.stop();
      throw error;
    }
  }

  async #start(): Promise<void> {
    this.#stack.defer(() => rmSync(this.folder, { recursive: true, force: true }));
    this.#stack.defer(() => this.#authority.remove());
    this.#stack.defer(() => this.#agent.destroy());
    // The broker runs as another user.
    chmodSync(this.folder, 0o755);
    cpSync(join(clone, 'deploy'), this.folder, {
      recursive: true,
      filter: (path) => path !== join(clone, 'deploy/secrets'),
    });
    const postgres = this.#stack.adopt(await Postgres.start(), (each) => each.stop());
    await postgres.query(postgres.urlOf('postgres'), 'CREATE DATABASE tocsin');
    this.#makeSecrets(postgres);
    await this.#startBroker();
    this.#inboxPort = await findFreePort();
    for (const name of nodeNames) await this.startNode(name);
    const { certificate, key } = this.#certificateFiles();
    const ports = Object.fromEntries(
      nodeNames.flatMap((name) => [
        [`${this.#address(name)}:8080`, `127.0.0.1:${this.#node(name).port}`],
        [`${this.#address(name)}:8081`, new URL(this.gateway(name).line.console).host],
      ]),
    );
    const balancer = await Nginx.start(readFileSync(join(this.folder, 'nginx.conf'), 'utf8'), (port) => ({
      'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
      'listen 8443 ssl;': `listen 127.0.0.1:${this.#inboxPort} ssl;`,
      '/run/secrets/tls_cert': certificate,
      '/run/secrets/tls_key': key,
      ...ports,
    }));
    this.#balancer = this.#stack.adopt(balancer, (each) => each.stop());
  }

  #makeSecrets(postgres: Postgres): void {
    const secrets = join(this.folder, 'secrets');
    mkdirSync(secrets);
    writeFileSync(join(secrets, 'postgres_password'), postgres.password);
    execFileSync('sh', [join(this.folder, 'make-secrets.sh')], { stdio: 'pipe' });
    const { cert, key } = this.#authority.issue('IP:127.0.0.1');
    const { certificate, key: keyFile } = this.#certificateFiles();
    writeFileSync(certificate, cert);
    writeFileSync(keyFile, key);
    const url = join(secrets, 'database_url');
    writeFileSync(url, substitute(readFileSync(url, 'utf8'), { 'postgres:5432': `127.0.0.1:${postgres.port}` }));
    // Here the broker's user has no container that lets it in.
    chmodSync(secrets, 0o755);
  }

  #certificateFiles(): { certificate: string; key: string } {
    const at = (name: string): string => join(this.folder, 'secrets', name);
    return { certificate: at('tls_cert'), key: at('tls_key') };
  }

  async #startBroker(): Promise<void> {
    this.#mqttPorts.nodes = await findFreePort();
    this.#mqttPorts.devices = await findFreePort();
    const data = join(this.folder, 'data');
    mkdirSync(data);
    const paths = { '/run/secrets': join(this.folder, 'secrets'), '/mosquitto/data': data };
    this.#change('mosquitto.conf', {
      ...paths,
      '/mosquitto/config': this.folder,
      'listener 1883': `listener ${this.#mqttPorts.nodes} 127.0.0.1`,
      'listener 8883': `listener ${this.#mqttPorts.devices} 127.0.0.1`,
    });
    this.#change('mosquitto-start.sh', { ...paths, '/mosquitto/config': this.folder });
    const [uid = '', gid = ''] = (this.compose.services.mosquitto?.user ?? '').split(':');
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(data, Number(uid), Number(gid));
    const asUser = isRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : [];
    const [program = '', ...args] = [...asUser, 'sh', join(this.folder, 'mosquitto-start.sh')];
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    });
    this.#broker = this.#stack.adopt(child, end);
    await saysThat(child, /mosquitto version \S+ running/);
  }

  /** Starts or restarts it on the port that the load balancer uses. */
  async startNode(name: NodeName): Promise<void> {
    const before = this.#nodes.get(name);
    const port = before?.port ?? (await findFreePort());
    const installation = before?.installation ?? (await this.#install(name, port));
    this.#nodes.set(name, { port, installation, gateway: await installation.serve() });
  }

  async #install(name: NodeName, port: number): Promise<Installation> {
    const environment = substitute(JSON.stringify(this.compose.services[name]?.environment), {
      '/run/secrets': join(this.folder, 'secrets'),
      'mosquitto:1883': `127.0.0.1:${this.#mqttPorts.nodes}`,
      [this.#address('nginx')]: '127.0.0.1',
      'https://localhost:8443': this.inboxUrl,
    });
    const installation = await Installation.create({
      ...(JSON.parse(environment) as Record<string, string>),
      TOCSIN_PORT: `${port}`,
    });
    return this.#stack.adopt(installation, (each) => each.remove());
  }

  /** As the guide says: the broker has the passwords of the devices, and reloads them. */
  async admitDevice(username: string, password: string): Promise<void> {
    execFileSync('mosquitto_passwd', ['-b', join(this.folder, 'data/passwords'), username, password], {
      stdio: 'pipe',
    });
    this.#broker?.kill('SIGHUP');
  }

  get devicesUrl(): string {
    return `mqtts://127.0.0.1:${this.#mqttPorts.devices}`;
  }

  get ca(): string {
    return this.#authority.ca;
  }

  gateway(name: NodeName): GatewayProcess {
    return this.#node(name).gateway;
  }

  installation(name: NodeName): Installation {
    return this.#node(name).installation;
  }

  /** The address of the inbox in the browser. */
  get inboxUrl(): string {
    return `https://127.0.0.1:${this.#inboxPort}`;
  }

  /** Sent through the load balancer, whose own responses are not JSON. */
  ask(path: string, headers: Record<string, string> = {}, notification?: object): Promise<BalancedAnswer> {
    return this.#send(this.#balancer?.port, path, headers, notification);
  }

  askInbox(path: string, headers: Record<string, string> = {}, body?: object): Promise<BalancedAnswer> {
    return this.#send(this.#inboxPort, path, { Origin: this.inboxUrl, ...headers }, body);
  }

  #send(
    port: number | undefined,
    path: string,
    headers: Record<string, string>,
    body: object | undefined,
  ): Promise<BalancedAnswer> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host: '127.0.0.1',
          port,
          path,
          agent: this.#agent,
          method: body === undefined ? 'GET' : 'POST',
          headers: { 'Content-Type': 'application/json', ...headers },
        },
        async (answer) => {
          const content = await text(answer);
          const isJson = answer.headers['content-type']?.includes('json') ?? false;
          const [cookie = ''] = answer.headers['set-cookie'] ?? [];
          resolve({
            status: answer.statusCode ?? 0,
            body: isJson ? (JSON.parse(content) as ResponseBody) : null,
            cookie,
          });
        },
      );
      call.once('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Number of requests that a node has handled since its start. */
  async answeredBy(name: NodeName): Promise<number> {
    const answer = await fetch(new URL('/metrics', this.#node(name).gateway.line.console));
    const counts = (await answer.text()).matchAll(/^tocsin_http_requests_total\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  async stop(): Promise<void> {
    await this.#stack.disposeAsync();
  }

  #node(name: NodeName): Node {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`${name} was not started.`);
    return node;
  }

  #address(service: string): string {
    return addressOf(this.compose.services[service] ?? {});
  }

  #change(file: string, changes: Record<string, string>): void {
    const path = join(this.folder, file);
    writeFileSync(path, substitute(readFileSync(path, 'utf8'), changes));
  }
}

async function saysThat(child: ChildProcess, expected: RegExp): Promise<void> {
  const said: string[] = [];
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => said.push(line));
  await eventually(
    `it says ${expected}`,
    20_000,
    () => ({ said, exitCode: child.exitCode }),
    ({ exitCode }) => exitCode !== null || said.some((line) => expected.test(line)),
  );
  if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}:\n${said.join('\n')}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
