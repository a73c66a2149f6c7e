import { parseArgs } from 'node:util';

export interface Options {
  rounds: number;
  seconds: number;
  connections: number;
  /** Over which broker the notification reaches one device; `none`: the owner has no device. */
  mqtt: MqttWay;
  /** Measure what an outage of one channel does to requests that do not use it, instead. */
  outage: boolean;
  /** Print the JSON alone, for a program to read. */
  json: boolean;
}

export const mqttWays = ['none', 'embedded', 'mosquitto'] as const;
export type MqttWay = (typeof mqttWays)[number];

export const usage = `Usage: npm run bench -- [options]

  --rounds N        rounds, each with both servers in turn (default 5)
  --seconds S       how long each server is loaded in a round (default 4)
  --connections C   keep-alive connections, one request at a time on each (default 64)
  --mqtt WAY        none, embedded or mosquitto: one device that gets every notification (default none)
  --outage          what an outage of one channel does to requests that do not use it
  --json            print only the JSON
`;

export class UsageError extends Error {}

export function readOptions(args: string[]): Options {
  const { rounds, seconds, connections, mqtt, outage, json } = parse(args);
  return {
    rounds: readNumber('rounds', rounds, 1, 1000, Number.isInteger),
    seconds: readNumber('seconds', seconds, 0.1, 3600, Number.isFinite),
    connections: readNumber('connections', connections, 1, 4096, Number.isInteger),
    mqtt: readWay(mqtt),
    outage,
    json,
  };
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
        connections: { type: 'string', default: '64' },
        mqtt: { type: 'string', default: 'none' },
        outage: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readWay(text: string): MqttWay {
  const way = mqttWays.find((known) => known === text);
  if (way === undefined) throw new UsageError(`--mqtt must be one of ${mqttWays.join(', ')}, not '${text}'.`);
  return way;
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
