// Which page is at which address. What most people open first is there at once, the rest is fetched on demand.
import type { OwnerProfile } from '@tocsin/contract/console';
import type { JSX } from 'preact';
import { lazyPage } from './layout/lazy-page.tsx';
import { NotFound } from './layout/not-found.tsx';
import { PageFrame } from './layout/page-frame.tsx';
import { InboxPage } from './pages/inbox/inbox-page.tsx';
import { matchPath } from './router.tsx';
import { text } from './text/index.ts';

export interface Place {
  /** The same for addresses that are one page. */
  name: string;
  title: string;
  page: JSX.Element;
}

const DevicesPage = lazyPage(async () => (await import('./pages/devices/devices-page.tsx')).DevicesPage);
const KeysPage = lazyPage(async () => (await import('./pages/keys/keys-page.tsx')).KeysPage);
const OwnersPage = lazyPage(async () => (await import('./pages/owners/owners-page.tsx')).OwnersPage);
const DocsPage = lazyPage(async () => (await import('./pages/docs/docs-page.tsx')).DocsPage);
const SettingsPage = lazyPage(async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage);

const docs: Place = { name: 'docs', title: text.docs.title, page: <DocsPage /> };
const nowhere: Place = { name: 'nowhere', title: text.common.notFoundTitle, page: <NotFound /> };
const places: Record<string, Place> = {
  '/devices': { name: 'devices', title: text.devices.title, page: <DevicesPage /> },
  '/keys': { name: 'keys', title: text.keys.title, page: <KeysPage /> },
  '/docs': docs,
  '/settings': { name: 'settings', title: text.settings.title, page: <SettingsPage /> },
};
const owners: Place = { name: 'owners', title: text.operator.title, page: <OwnersPage /> };

/** For people who are not signed in; null: they sign in first. */
export function publicPlaceAt(path: string): Place | null {
  return path === '/docs' ? docs : null;
}

export function placeAt(path: string, role: OwnerProfile['role']): Place {
  if (path === '/') return inboxPlace(null);
  const entry = matchPath('/inbox/:id', path);
  if (entry !== null) return inboxPlace(entry.id ?? null);
  if (path === '/owners' && role === 'operator') return owners;
  return places[path] ?? nowhere;
}

function inboxPlace(id: string | null): Place {
  const page = (
    <PageFrame>
      <InboxPage id={id} />
    </PageFrame>
  );
  return { name: 'inbox', title: text.inbox.title, page };
}
