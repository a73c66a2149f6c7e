// Media servers: the webhook plugin of Jellyfin, and Plex.
import type { JsonObject } from '@tocsin/contract';
import { membersOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';
import { joinLines } from '../text.ts';

/** What happened to an item. */
const jellyfinItems: Readonly<Record<string, string>> = {
  ItemAdded: 'added',
  ItemDeleted: 'deleted',
  PlaybackStart: 'playing',
  PlaybackProgress: 'playing',
  PlaybackStop: 'playback stopped',
};
const plexEvents: Readonly<Record<string, string>> = {
  'media.play': 'playing',
  'media.pause': 'paused',
  'media.resume': 'playing again',
  'media.stop': 'playback stopped',
  'media.scrobble': 'played',
  'media.rate': 'rated',
  'library.new': 'new',
  'library.on.deck': 'on deck',
  'playback.started': 'playing',
};

export const jellyfinPlex: Preset = {
  name: 'jellyfin-plex',
  label: 'Jellyfin and Plex',

  matches({ headers, body: { value } }) {
    const { NotificationType, ServerId, event, Server } = membersOf(value);
    const isJellyfin = typeof NotificationType === 'string' && typeof ServerId === 'string';
    const isPlex =
      /^PlexMediaServer\//.test(headers['user-agent'] ?? '') || textOf(membersOf(Server).uuid) !== undefined;
    return isJellyfin || (isPlex && typeof event === 'string');
  },

  read({ body: { value } }) {
    const event = membersOf(value);
    return textOf(event.NotificationType) === undefined ? readPlex(event) : readJellyfin(event);
  },
};

function readJellyfin(event: JsonObject): SenderEvent | null {
  const type = textOf(event.NotificationType) ?? '';
  const server = textOf(event.ServerName) ?? 'Jellyfin';
  const user = textOf(event.NotificationUsername) ?? textOf(event.Username);
  const device = textOf(event.DeviceName);
  const serverUrl = urlOf(event.ServerUrl);
  const common = { source: server, clickUrl: serverUrl, severity: null };
  const happened = Object.hasOwn(jellyfinItems, type) ? jellyfinItems[type] : undefined;
  if (happened !== undefined) {
    const series = textOf(event.SeriesName);
    const name = [series, textOf(event.Name)].filter((text) => text !== undefined).join(' – ');
    const body = type.startsWith('Playback') ? joinLines(user, device) : textOf(event.Overview);
    return { ...common, title: `${name}: ${happened}`, body, clickUrl: itemUrlOf(event, serverUrl) };
  }
  switch (type) {
    case 'AuthenticationFailure':
      return {
        ...common,
        title: `Authentication failed on ${server}: ${user ?? 'unknown user'}`,
        body: joinLines(device, textOf(event.RemoteEndPoint)),
        severity: 'warning',
      };
    case 'UserLockedOut':
      return { ...common, title: `User ${user ?? ''} is locked out of ${server}`, severity: 'warning' };
    case 'PendingRestart':
      return { ...common, title: `${server} has to be restarted` };
    case 'PluginInstallationFailed':
      return {
        ...common,
        title: `Installation of ${textOf(event.PluginName) ?? 'a plugin'} failed`,
        body: textOf(event.ExceptionMessage),
        severity: 'error',
      };
    case 'TaskCompleted':
      return { ...common, ...readTask(event) };
    default:
      return null;
  }
}

function readTask({ TaskId, TaskName, ResultStatus, ResultErrorMessage }: JsonObject): SenderEvent {
  const status = textOf(ResultStatus) ?? 'Completed';
  const id = textOf(TaskId);
  return {
    title: `${textOf(TaskName) ?? 'Task'}: ${status.toLowerCase()}`,
    body: textOf(ResultErrorMessage),
    severity: status === 'Failed' ? 'error' : status === 'Completed' ? 'info' : 'warning',
    threadKey: id === undefined ? undefined : `task ${id}`,
    resolved: status === 'Completed',
  };
}

/** The page of an item in the web client. */
function itemUrlOf({ ItemId, ServerId }: JsonObject, serverUrl: string | undefined): string | undefined {
  const [id, server] = [ItemId, ServerId].map((value) => textOf(value) ?? '');
  const areIds = [id, server].every((text) => /^[0-9a-f-]{1,64}$/i.test(text ?? ''));
  if (serverUrl === undefined || !areIds) return serverUrl;
  return `${serverUrl.replace(/\/$/, '')}/web/#/details?id=${id}&serverId=${server}`;
}

function readPlex(event: JsonObject): SenderEvent | null {
  const type = textOf(event.event) ?? '';
  const server = textOf(membersOf(event.Server).title) ?? 'Plex';
  const common = { source: server, severity: null };
  if (type === 'admin.database.corrupted') {
    return { ...common, title: `Database of ${server} is corrupted`, severity: 'error' };
  }
  if (type === 'admin.database.backup') return { ...common, title: `Database of ${server} was backed up` };
  const player = textOf(membersOf(event.Player).title);
  const account = textOf(membersOf(event.Account).title);
  if (type === 'device.new') return { ...common, title: `New device on ${server}`, body: joinLines(account, player) };
  const happened = Object.hasOwn(plexEvents, type) ? plexEvents[type] : undefined;
  if (happened === undefined) return null;
  const { title, grandparentTitle, summary } = membersOf(event.Metadata);
  const name = [textOf(grandparentTitle), textOf(title)].filter((text) => text !== undefined).join(' – ');
  const body = type.startsWith('library.') ? textOf(summary) : joinLines(account, player);
  return { ...common, title: `${name}: ${happened}`, body };
}
