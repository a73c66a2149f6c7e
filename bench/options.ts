import { parseArgs } from 'node:util';

export interface Options {
  mode: Mode;
  rounds: number;
  seconds: number;
  /** Numbers of connections, each measured in every round. */
  connections: readonly number[];
  /** The broker through which notifications reach the device; `none`: the owner has no device. */
  mqtt: MqttWay;
  store: StoreKind;
  /** Worker processes of one gateway that serve the public API. */
  workers: number;
  /** Gateways on one database. */
  nodes: number;
  /** Number of connected devices or open inboxes, depending on the mode; 0 in other modes. */
  clients: number;
  /** Number of notifications in a grown store, or of deliveries that wait for retry, depending on the mode. */
  rows: number;
  /** The folder of another checkout, built, that is measured in the same run. */
  against: string | null;
  /** Measure other products too. */
  hasPeers: boolean;
  /** Print only the JSON, for programs. */
  json: boolean;
}

export const mqttWays = ['none', 'embedded', 'mosquitto'] as const;
export type MqttWay = (typeof mqttWays)[number];
export const storeKinds = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof storeKinds)[number];
/** What is measured instead of the accept path and the echo server. */
const otherModes = ['outage', 'growth', 'redelivery', 'devices', 'inboxes', 'bodies'] as const;
export type Mode = 'accept' | (typeof otherModes)[number];

const defaultRows: Partial<Record<Mode, number>> = { growth: 1_000_000, redelivery: 10_000 };

export const usage = `Usage: npm run bench -- [options]

  --rounds N        rounds, each with all servers in turn (default 5)
  --seconds S       how long each server is loaded in a round (default 4)
  --connections C   numbers of callers: keep-alive connections with one request at a time (default 1,8,64)
  --mqtt WAY        none, embedded or mosquitto: one device that gets every notification (default none);
                    mosquitto is compared with the embedded broker, unless there are several nodes
  --store KIND      sqlite, or postgres: a server of its own with its default settings (default sqlite)
  --workers N       processes that serve the public API of one gateway (default 1)
  --nodes N         gateways on one PostgreSQL, the load spread over them; compared with one of them (default 1)
  --against DIR     measure another checkout too, which must be built (npm run build)
  --peers           measure ntfy and Gotify too: their binaries are named by the variables NTFY and GOTIFY
  --json            print only JSON

Instead of the accept path and the echo server:

  --outage          what an outage of one channel does to requests that do not use it
  --growth          accepting, and a page of the inbox, in a store of ${defaultRows.growth} rows and when it had a hundredth of them
  --redelivery      how fast ${defaultRows.redelivery} deliveries queued for a broker drain after it has restarted
  --devices N       N MQTT devices that connect to the embedded broker at once, and a notification to 100 of one owner
  --inboxes N       N open inboxes, and a notification to 20 of one owner
  --bodies          the longest turn of the event loop that one hostile body causes, as often as there are rounds
  --rows N          another number of rows (5000 or more), or of deliveries (100 or more)
  --help            print this
`;

export class UsageError extends Error {}

export function readOptions(args: string[]): Options {
  const values = parse(args);
  const mode = readMode(values);
  const nodes = readNumber('nodes', values.nodes, 1, 64, Number.isInteger);
  const options: Options = {
    mode,
    rounds: readNumber('rounds', values.rounds, 1, 1000, Number.isInteger),
    seconds: readNumber('seconds', values.seconds, 0.1, 3600, Number.isFinite),
    connections: values.connections
      .split(',')
      .map((each) => readNumber('connections', each, 1, 4096, Number.isInteger)),
    mqtt: readWord('mqtt', values.mqtt, mqttWays),
    store: readWord('store', values.store ?? (nodes > 1 ? 'postgres' : 'sqlite'), storeKinds),
    workers: readNumber('workers', values.workers, 1, 64, Number.isInteger),
    nodes,
    clients: readNumber('clients', values.devices ?? values.inboxes ?? '0', 0, 10_000, Number.isInteger),
    rows: readNumber('rows', values.rows ?? String(defaultRows[mode] ?? 0), 0, 100_000_000, Number.isInteger),
    against: values.against ?? null,
    hasPeers: values.peers,
    json: values.json,
  };
  refuseWhatDoesNotFit(options, values.rows !== undefined);
  return options;
}

function refuseWhatDoesNotFit(
  { mode, nodes, workers, store, mqtt, clients, rows, against, hasPeers }: Options,
  hasRows: boolean,
): void {
  if (nodes > 1 && store !== 'postgres') throw new UsageError('--nodes needs --store postgres.');
  if (nodes > 1 && mode !== 'accept' && mode !== 'redelivery') throw new UsageError(`--${mode} is for one node.`);
  if (nodes > 1 && mqtt === 'embedded') {
    throw new UsageError('--nodes needs a broker that all of them share: --mqtt mosquitto.');
  }
  if (mode !== 'accept' && mqtt !== 'none') {
    throw new UsageError(`--${mode} chooses its own broker; omit --mqtt.`);
  }
  if (mode !== 'accept' && (against !== null || hasPeers)) {
    throw new UsageError(`--${mode} measures this checkout alone; omit --against and --peers.`);
  }
  if (hasPeers && store !== 'sqlite') throw new UsageError('--peers is for the embedded store.');
  if ((mode === 'devices' || mode === 'inboxes') && clients < 1) throw new UsageError(`--${mode} needs at least 1.`);
  if (mode === 'bodies' && workers > 1) throw new UsageError('--bodies is for one process.');
  if (hasRows && defaultRows[mode] === undefined) throw new UsageError('--rows is for --growth and --redelivery.');
  if (mode === 'growth' && rows < 5000) throw new UsageError('--growth needs --rows of 5000 or more.');
  if (mode === 'redelivery' && rows < 100) throw new UsageError('--redelivery needs --rows of 100 or more.');
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      strict: true,
      allowPositionals: false,
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '4' },
        connections: { type: 'string', default: '1,8,64' },
        mqtt: { type: 'string', default: 'none' },
        store: { type: 'string' },
        workers: { type: 'string', default: '1' },
        nodes: { type: 'string', default: '1' },
        outage: { type: 'boolean', default: false },
        growth: { type: 'boolean', default: false },
        redelivery: { type: 'boolean', default: false },
        bodies: { type: 'boolean', default: false },
        devices: { type: 'string' },
        inboxes: { type: 'string' },
        rows: { type: 'string' },
        against: { type: 'string' },
        peers: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readMode(values: Partial<Record<Mode, boolean | string>>): Mode {
  const wanted = otherModes.filter((mode) => values[mode] !== undefined && values[mode] !== false);
  if (wanted.length > 1)
    throw new UsageError(`Only one of ${wanted.map((mode) => `--${mode}`).join(' and ')} at a time.`);
  return wanted[0] ?? 'accept';
}

function readWord<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === text);
  if (word === undefined) throw new UsageError(`--${name} must be one of ${words.join(', ')}, not '${text}'.`);
  return word;
}

function readNumber(
  name: string,
  text: string,
  least: number,
  most: number,
  isKind: (value: number) => boolean,
): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (isKind(value) && value >= least && value <= most) return value;
  const what = isKind === Number.isInteger ? 'a whole number' : 'a number';
  throw new UsageError(`--${name} must be ${what} from ${least} to ${most}, not '${text}'.`);
}
