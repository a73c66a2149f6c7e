// The routes of the app. The inbox is part of the first bundle; the other pages are loaded on demand.
import type { OwnerProfile } from '@tocsin/contract/console';
import type { JSX } from 'preact';
import { lazyPage } from './layout/lazy-page.tsx';
import { NotFound } from './layout/not-found.tsx';
import { PageFrame } from './layout/page-frame.tsx';
import { InboxPage } from './pages/inbox/inbox-page.tsx';
import { matchPath } from './router.tsx';
import { text } from './text/index.ts';

export interface Route {
  /** Equal for all paths that show the same page. */
  name: string;
  title: string;
  page: JSX.Element;
}

const DevicesPage = lazyPage(async () => (await import('./pages/devices/devices-page.tsx')).DevicesPage);
const KeysPage = lazyPage(async () => (await import('./pages/keys/keys-page.tsx')).KeysPage);
const OwnersPage = lazyPage(async () => (await import('./pages/owners/owners-page.tsx')).OwnersPage);
const DocsPage = lazyPage(async () => (await import('./pages/docs/docs-page.tsx')).DocsPage);
const SettingsPage = lazyPage(async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage);

const docs: Route = { name: 'docs', title: text.docs.title, page: <DocsPage /> };
const notFound: Route = { name: 'not-found', title: text.common.notFoundTitle, page: <NotFound /> };
const routes: Record<string, Route> = {
  '/devices': { name: 'devices', title: text.devices.title, page: <DevicesPage /> },
  '/keys': { name: 'keys', title: text.keys.title, page: <KeysPage /> },
  '/docs': docs,
  '/settings': { name: 'settings', title: text.settings.title, page: <SettingsPage /> },
};
const owners: Route = { name: 'owners', title: text.operator.title, page: <OwnersPage /> };

/** The route for signed-out users; null if the path requires a session. */
export function matchPublicRoute(path: string): Route | null {
  return path === '/docs' ? docs : null;
}

export function matchRoute(path: string, role: OwnerProfile['role']): Route {
  if (path === '/') return inboxRoute(null);
  const entry = matchPath('/inbox/:id', path);
  if (entry !== null) return inboxRoute(entry.id ?? null);
  if (path === '/owners' && role === 'operator') return owners;
  return routes[path] ?? notFound;
}

function inboxRoute(id: string | null): Route {
  const page = (
    <PageFrame>
      <InboxPage id={id} />
    </PageFrame>
  );
  return { name: 'inbox', title: text.inbox.title, page };
}
