// The resources of a gateway process, as the operating system counts them.
import { readdir, readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { GatewayProcess } from './gateway-process.ts';

export interface ProcessUsage {
  sockets: number;
  megabytes: number;
  /** The maximum since the start. */
  peakMegabytes: number;
}

export async function usageOf({ child: { pid } }: GatewayProcess): Promise<ProcessUsage> {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
  return {
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
    megabytes: megabytes('VmRSS'),
    peakMegabytes: megabytes('VmHWM'),
  };
}

/** Connections to these ports, as the server's side sees them: also those that it has not accepted yet. */
export async function connectionsTo(...ports: number[]): Promise<number> {
  return (await established()).filter(({ local }) => ports.includes(local)).length;
}

/** Whether the server still holds its side of this connection. */
export async function isHeld({ localPort, remotePort }: Socket): Promise<boolean> {
  return (await established()).some(({ local, remote }) => local === remotePort && remote === localPort);
}

async function established(): Promise<{ local: number; remote: number }[]> {
  const [, ...lines] = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n');
  return lines.flatMap((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    const [from, to] = [local, remote].map((address) => Number.parseInt(address.split(':')[1] ?? '', 16));
    return state === '01' ? [{ local: from as number, remote: to as number }] : [];
  });
}
