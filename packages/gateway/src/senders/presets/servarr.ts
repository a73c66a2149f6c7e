// Sonarr, Radarr, Lidarr, Prowlarr and their relatives.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { membersOf, objectsOf, type Preset, type SenderEvent, type SenderRequest, textOf, urlOf } from '../event.ts';
import { severityOf } from '../severity.ts';
import { joinLines } from '../text.ts';

/** What happened to a series, a movie or an album. */
const happenings: Readonly<Record<string, string>> = {
  Grab: 'grabbed',
  Download: 'downloaded',
  AlbumDownload: 'downloaded',
  ImportComplete: 'imported',
  Rename: 'renamed',
  Retag: 'tagged again',
  SeriesAdd: 'added',
  MovieAdded: 'added',
  ArtistAdd: 'added',
  SeriesDelete: 'deleted',
  MovieDelete: 'deleted',
  ArtistDelete: 'deleted',
  AlbumDelete: 'deleted',
  EpisodeFileDelete: 'file deleted',
  MovieFileDelete: 'file deleted',
  ManualInteractionRequired: 'manual interaction required',
  DownloadFailure: 'download failed',
  ImportFailure: 'import failed',
};
const severities = { ManualInteractionRequired: 'warning', DownloadFailure: 'error', ImportFailure: 'error' } as const;
const maxItems = 20;

export const servarr: Preset = {
  name: 'servarr',
  label: 'Sonarr, Radarr, Lidarr, Prowlarr',

  matches(request) {
    const { eventType, instanceName, level, wikiUrl, series, movie, artist } = membersOf(request.body.value);
    if (typeof eventType !== 'string') return false;
    if (programOf(request) !== undefined || typeof instanceName === 'string') return true;
    return (typeof level === 'string' && typeof wikiUrl === 'string') || [series, movie, artist].some(isObject);
  },

  read(request) {
    const event = membersOf(request.body.value);
    const type = textOf(event.eventType) ?? '';
    const instance = textOf(event.instanceName) ?? programOf(request) ?? 'Servarr';
    const common = { source: instance, clickUrl: urlOf(event.applicationUrl) };
    switch (type) {
      case 'Test':
        return { ...common, title: `${instance}: test`, body: 'The address works.' };
      case 'ApplicationUpdate':
        return { ...common, title: `${instance} updated to ${textOf(event.newVersion) ?? 'a new version'}` };
      case 'Health':
      case 'HealthRestored':
        return { ...common, ...readHealth(event, instance, type === 'HealthRestored') };
      default: {
        const happened = Object.hasOwn(happenings, type) ? happenings[type] : undefined;
        return happened === undefined ? null : { ...common, ...readMedia(event, instance, type, happened) };
      }
    }
  },
};

function readHealth(event: JsonObject, instance: string, isRestored: boolean): SenderEvent {
  const message = textOf(event.message);
  const check = textOf(event.type);
  return {
    title: `${instance}: ${isRestored ? 'health restored' : (message ?? 'health check failed')}`,
    body: isRestored ? message : check,
    severity: isRestored ? 'info' : (severityOf(event.level) ?? 'warning'),
    clickUrl: urlOf(event.wikiUrl) ?? urlOf(event.applicationUrl),
    threadKey: check === undefined ? undefined : `${instance} health ${check}`,
    resolved: isRestored,
  };
}

function readMedia(event: JsonObject, instance: string, type: string, happened: string): SenderEvent {
  const release = membersOf(event.release);
  const file = membersOf(event.episodeFile ?? event.movieFile ?? event.downloadInfo);
  const quality = textOf(release.quality) ?? textOf(file.quality);
  const details = [quality, textOf(release.indexer), event.isUpgrade === true ? 'upgrade' : undefined];
  const download = textOf(event.downloadId);
  return {
    title: `${nameOf(event) ?? textOf(release.releaseTitle) ?? instance}: ${happened}`,
    body: joinLines(
      ...objectsOf(event.episodes, maxItems).map(({ title }) => textOf(title)),
      textOf(details.filter((text) => text !== undefined).join(', ')),
      ...objectsOf(event.downloadStatusMessages, maxItems).flatMap(({ messages }) => textsOf(messages)),
    ),
    severity: Object.hasOwn(severities, type) ? severities[type as keyof typeof severities] : null,
    threadKey: download === undefined ? undefined : `${instance} download ${download}`,
  };
}

/** `Example Series S01E02`, `Example Movie (2023)` or `Example Band – Example Album`. */
function nameOf({ series, movie, artist, album, albums, author, episodes, episode }: JsonObject): string | undefined {
  const show = textOf(membersOf(series).title);
  if (show !== undefined) return [show, episodeOf(objectsOf(episodes ?? episode, maxItems))].join(' ').trim();
  const film = textOf(membersOf(movie).title);
  const year = textOf(membersOf(movie).year);
  if (film !== undefined) return year === undefined ? film : `${film} (${year})`;
  const name = textOf(membersOf(artist).name) ?? textOf(membersOf(author).name);
  const record = textOf(membersOf(album).title) ?? textOf(objectsOf(albums, 1)[0]?.title);
  return name === undefined || record === undefined ? (name ?? record) : `${name} – ${record}`;
}

/** `S01E02`, or `S01E02–E05` for several. */
function episodeOf(episodes: readonly JsonObject[]): string {
  const [first, last] = [episodes[0], episodes.at(-1)].map((episode) => [
    textOf(episode?.seasonNumber)?.padStart(2, '0'),
    textOf(episode?.episodeNumber)?.padStart(2, '0'),
  ]);
  if (first?.[0] === undefined || first[1] === undefined) return '';
  return `S${first[0]}E${first[1]}${episodes.length > 1 ? `–E${last?.[1] ?? ''}` : ''}`;
}

/** The name of the program in its User-Agent header. */
function programOf({ headers }: SenderRequest): string | undefined {
  return /^(Sonarr|Radarr|Lidarr|Prowlarr|Readarr|Whisparr)\//.exec(headers['user-agent'] ?? '')?.[1];
}

function textsOf(value: JsonValue | undefined): (string | undefined)[] {
  return Array.isArray(value) ? value.slice(0, maxItems).map(textOf) : [];
}

function isObject(value: JsonValue | undefined): boolean {
  return Object.keys(membersOf(value)).length > 0;
}
