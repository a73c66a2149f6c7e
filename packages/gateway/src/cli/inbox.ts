import { defaults } from '@tocsin/contract';
import { printable } from '../core/printable.ts';
import type { Notification } from '../usecases/ports/index.ts';
import { type CommandGroup, isoTime, ownerOption, resolveOwner, UsageError, withStore } from './command.ts';

const defaultLimit = 50;
const maxLimit = 1000;

export const inboxCommands: CommandGroup = {
  summary: 'Inbox: received notifications',
  commands: {
    list: {
      summary: 'List notifications, decrypted, newest first',
      options: {
        owner: ownerOption,
        limit: {
          kind: 'string',
          value: 'N',
          help: `maximum number of rows (default ${defaultLimit}, at most ${maxLimit})`,
        },
        before: { kind: 'string', value: 'ID', help: 'only notifications older than this one (next page)' },
      },
      run: async (args, environment) => {
        const limit = Number(args.text('limit') ?? defaultLimit);
        if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
          throw new UsageError(`--limit must be a number from 1 to ${maxLimit}.`);
        }
        const before = args.text('before');
        if (before !== undefined && !/^[0-9a-f-]{36}$/.test(before)) {
          throw new UsageError('--before must be the id of a notification.');
        }
        const page = await withStore(environment, async (store) => {
          const { id } = await resolveOwner(store, args.text('owner'));
          return store.inbox.list(id, { limit, ...(before !== undefined && { before }) });
        });
        const whenEmpty = before === undefined ? 'No notifications yet.' : 'No older notifications.';
        return {
          json: page.items.map(toJson),
          text: page.items.map(describe).join('\n\n') || whenEmpty,
          warnings: page.damaged.map(
            (id) => `Notification ${id} cannot be decrypted: its row was altered or its key was deleted.`,
          ),
        };
      },
    },
  },
};

function toJson({ id, createdAt, content }: Notification) {
  return { id, createdAt: isoTime(createdAt), ...content };
}

function describe({ id, createdAt, content }: Notification): string {
  const { title, body, source, category, severity, data } = content;
  const origin = source === defaults.source ? '' : `  from ${source}`;
  const lines = [`${isoTime(createdAt)}  [${severity ?? category}]  ${title}${origin}`, `  ${id}`];
  if (body !== '') lines.push(...body.split('\n').map((line) => `  ${line}`));
  for (const [name, value] of Object.entries(data)) {
    lines.push(`  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return lines.map(printable).join('\n');
}
