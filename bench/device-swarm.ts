// Many MQTT devices in one process: bare sockets with persistent sessions that subscribe with QoS 1 and acknowledge. A client
// library would need more processor time for thousands of them than the gateway.
import { connect, type Socket } from 'node:net';
import {
  confirmation,
  connectPacket,
  packetType,
  pingPacket,
  type RawPacket,
  readPublish,
  splitPackets,
  subscribePacket,
} from '@tocsin/test-support/embedded-raw-client.ts';
import { serveSwarm } from './swarm.ts';

export interface SwarmDevice {
  username: string;
  password: string;
  topic: string;
}

/** Within the keep-alive of 60 s that clients announce, each sends one PINGREQ; the times are spread evenly. */
const pingEachMs = 40_000;
const pingEveryMs = 100;

const connected: Socket[] = [];

function connectDevice(port: number, device: SwarmDevice, arrived: (id: string) => void): Promise<void> {
  const { username, password, topic } = device;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let isSubscribed = false;
    let pending: Buffer = Buffer.alloc(0);
    const handle = (packet: RawPacket): void => {
      if (packet.type === packetType.connack) {
        if (packet.body[1] !== 0) socket.destroy(new Error(`CONNACK ${packet.body[1]}`));
        else socket.write(subscribePacket([topic], 1));
      } else if (packet.type === packetType.suback) {
        isSubscribed = true;
        connected.push(socket);
        resolve();
      } else if (packet.type === packetType.publish) {
        const { messageId, payload } = readPublish(packet);
        socket.write(confirmation('puback', messageId as number));
        arrived(/"id":"([^"]+)"/.exec(payload.toString('latin1', 0, 64))?.[1] as string);
      }
    };
    socket.on('connect', () => socket.write(connectPacket({ clientId: 'bench', username, password, clean: false })));
    socket.on('data', (bytes: Buffer) => {
      const { packets, rest } = splitPackets(pending.length === 0 ? bytes : Buffer.concat([pending, bytes]));
      pending = rest;
      for (const packet of packets) handle(packet);
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (isSubscribed) throw new Error('The gateway closed the connection of a device.');
      reject(new Error('closed before SUBACK'));
    });
  });
}

let nextPing = 0;
setInterval(() => {
  for (let count = Math.ceil((connected.length * pingEveryMs) / pingEachMs); count > 0; count -= 1) {
    connected[nextPing % connected.length]?.write(pingPacket);
    nextPing += 1;
  }
}, pingEveryMs);

serveSwarm(connectDevice);
