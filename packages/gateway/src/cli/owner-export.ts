// All data of one owner as one JSON document, streamed, so that an inbox of any size fits into memory.

import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { formatRate, type Original } from '@tocsin/contract';
import { describeFileError } from '../core/file-error.ts';
import { fullData } from '../core/notification.ts';
import { printable, printableJson } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import {
  type ApiKey,
  DecryptionFailed,
  type Delivery,
  type Hook,
  type Notification,
  type Owner,
  type Store,
  type StoredDevice,
  type StoredPushTarget,
} from '../usecases/ports/index.ts';
import { type Command, counted, isoTime, notFound, type Output, withStore } from './command.ts';

const pageSize = 500;
/** Higher than the number of targets that an owner can have. */
const maxDeliveries = 1000;

interface Counts {
  notifications: number;
  damaged: number;
}

export const exportCommand: Command = {
  summary: 'Export all data of an owner, decrypted, as JSON (includes push tokens)',
  positional: 'ID',
  options: {
    output: { kind: 'string', value: 'FILE', help: 'write to a new file with mode 0600 (default: stdout)' },
  },
  run: (args, environment) =>
    withStore(environment, async (store) => {
      const owner = (await store.owners.find(args.positional)) ?? notFound('owner', args.positional);
      const counts: Counts = { notifications: 0, damaged: 0 };
      const document = Readable.from(writeDocument(store, owner, counts));
      const file = args.text('output');
      if (file === undefined) {
        await toStdout(document);
        return undefined;
      }
      await toNewFile(document, file);
      return describeExport(owner, file, counts);
    }),
};

async function* writeDocument(store: Store, owner: Owner, counts: Counts): AsyncGenerator<string> {
  const damaged: string[] = [];
  const noteDamaged = (id: string): void => void damaged.push(id);
  const head = {
    format: 'tocsin-owner-1',
    exportedAt: isoTime(Date.now()),
    owner: ownerJson(owner),
    keys: (await store.keys.list(owner.id, noteDamaged)).map(keyJson),
    hooks: (await store.hooks.list(owner.id, noteDamaged)).map(hookJson),
    devices: (await store.devices.list(owner.id, noteDamaged)).map(deviceJson),
    pushTargets: (await store.pushTargets.list(owner.id, noteDamaged)).map(targetJson),
  };
  yield `${printableJson(JSON.stringify(head, null, 2)).slice(0, -2)},\n  "notifications": [`;
  // Most owners have no deliveries, which saves a query per notification.
  const hasDeliveries = (await nullIfDamaged(store.deliveries.list({ ownerId: owner.id, limit: 1 })))?.length !== 0;
  let after = '';
  for (;;) {
    const page = await store.notifications.list(owner.id, { limit: pageSize, after });
    const lines = await Promise.all(
      page.notifications.map(async (notification) => {
        const deliveries = hasDeliveries ? await deliveriesOf(store, notification) : [];
        const original = await nullIfDamaged(store.notifications.findOriginal(owner.id, notification.id));
        return printableJson(JSON.stringify({ ...notificationJson(notification, original), deliveries }));
      }),
    );
    if (lines.length > 0) yield `${counts.notifications === 0 ? '' : ','}\n    ${lines.join(',\n    ')}`;
    counts.notifications += lines.length;
    damaged.push(...page.damaged);
    if (page.next === undefined) break;
    after = page.next;
  }
  counts.damaged = damaged.length;
  yield `\n  ],\n  "damaged": ${JSON.stringify(damaged)}\n}\n`;
}

async function toStdout(document: Readable): Promise<void> {
  try {
    await pipeline(document, process.stdout, { end: false });
  } catch (error) {
    // A reader that closes the pipe early, such as head(1), is not an error.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

async function toNewFile(document: Readable, file: string): Promise<void> {
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await once(output, 'open');
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new Problem(
      exists
        ? `${file} already exists. Choose a new file name.`
        : `${file} cannot be written: ${describeFileError(error)}.`,
    );
  }
  try {
    await pipeline(document, output);
  } catch (error) {
    // An incomplete document is useless, and contains sensitive data.
    rmSync(file, { force: true });
    throw error;
  }
}

function describeExport(owner: Owner, file: string, { notifications, damaged }: Counts): Output {
  return {
    json: { id: owner.id, file, notifications, damaged },
    text: `Exported ${printable(owner.name)} (${owner.id}) with ${counted(notifications, 'notification')} to ${file}. The file is not encrypted.`,
    warnings:
      damaged === 0
        ? []
        : [`${counted(damaged, 'row')} could not be decrypted; their ids are in "damaged" in the file.`],
  };
}

function ownerJson({ id, name, email, emailAlerts, createdAt }: Owner) {
  return { id, name, email, emailAlerts, createdAt: isoTime(createdAt) };
}

/** Omits the digests of its tokens and the signing secret. */
function hookJson({
  id,
  name,
  preset,
  severity,
  disabledChannels,
  rateLimit,
  repeatSeconds,
  allowsGet,
  ...times
}: Hook) {
  return {
    ...{ id, name, preset, severity, disabledChannels, repeatSeconds, allowsGet },
    rateLimit: rateLimit && formatRate(rateLimit),
    createdAt: isoTime(times.createdAt),
    disabledAt: isoTime(times.disabledAt),
  };
}

/** Omits the digest: the owner does not need it, and an attacker could use it to guess the value. */
function keyJson({ id, type, label, allowedDomains, requireSignature, rateLimit, ...times }: ApiKey) {
  return {
    id,
    type,
    label,
    allowedDomains,
    requireSignature,
    rateLimit: rateLimit && formatRate(rateLimit),
    createdAt: isoTime(times.createdAt),
    expiresAt: isoTime(times.expiresAt),
    revokedAt: isoTime(times.revokedAt),
  };
}

function deviceJson({ id, name, state, paused, createdAt }: StoredDevice) {
  return { id, name, state, paused, createdAt: isoTime(createdAt) };
}

function targetJson({ id, provider, token, label, createdAt, disabledAt }: StoredPushTarget) {
  return { id, provider, token, label, createdAt: isoTime(createdAt), disabledAt: isoTime(disabledAt) };
}

function notificationJson({ id, createdAt, content }: Notification, original: Original | null) {
  return { id, createdAt: isoTime(createdAt), ...content, data: fullData(content, original) };
}

/** Deliveries to targets that the first attempt did not reach; null if they cannot be decrypted. */
async function deliveriesOf(store: Store, { ownerId, id }: Notification) {
  const filter = { ownerId, notificationId: id, limit: maxDeliveries };
  return (await nullIfDamaged(store.deliveries.list(filter)))?.map(deliveryJson) ?? null;
}

async function nullIfDamaged<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DecryptionFailed) return null;
    throw error;
  }
}

function deliveryJson({ channel, target, state, attempts, nextAt, endedAt, error }: Delivery) {
  return { channel, target, state, attempts, nextAt: isoTime(nextAt), endedAt: isoTime(endedAt), error };
}
