// The layout around every page of a signed-in owner.
import type { ComponentChildren } from 'preact';
import { Button } from '../components/button.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { showError } from '../components/toast.tsx';
import { Link, usePath } from '../router.tsx';
import { useSession } from '../session.tsx';
import { text } from '../text/index.ts';
import { Brand } from './brand.tsx';

interface NavItem {
  href: string;
  icon: IconName;
  label: string;
  /** Omitted from the narrow bar on phones, where the settings link to it. */
  isWide?: true;
}

/** `unread` is the formatted count: '' for none. */
export function Shell({ unread, children }: { unread: string; children: ComponentChildren }) {
  const path = usePath();
  const { owner, signOut } = useSession();
  const { nav } = text.common;
  const items: NavItem[] = [
    { href: '/', icon: 'inbox', label: nav.inbox },
    { href: '/devices', icon: 'device', label: nav.devices },
    { href: '/keys', icon: 'key', label: nav.keys },
    ...(owner.role === 'operator'
      ? [{ href: '/owners', icon: 'people', label: nav.owners, isWide: true } as const]
      : []),
    { href: '/docs', icon: 'code', label: nav.docs, isWide: true },
    { href: '/settings', icon: 'settings', label: nav.settings },
  ];
  return (
    <div class="shell">
      <a class="skip-link" href="#content">
        {text.common.skipToContent}
      </a>
      <div class="sidebar">
        <Brand />
        <nav class="nav" aria-label={text.common.mainNavigation}>
          {items.map(({ href, icon, label, isWide }) => (
            <Link
              key={href}
              href={href}
              {...(isWide && { class: 'wide-only' })}
              {...(isAt(path, href) && { 'aria-current': 'page' as const })}
            >
              <Icon name={icon} />
              {label}
              {href === '/' && unread !== '' && (
                <span class="count">
                  {unread}
                  <span class="visually-hidden"> {text.inbox.unreadWord}</span>
                </span>
              )}
            </Link>
          ))}
        </nav>
        <div class="foot">
          <span class="who" title={owner.email ?? owner.name}>
            <strong>{owner.name}</strong>
            {owner.email !== null && <span class="small soft">{owner.email}</span>}
          </span>
          <Button
            kind="quiet"
            small
            icon="signOut"
            label={text.common.signOut}
            onClick={() => signOut().catch(showError)}
          />
        </div>
      </div>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function isAt(path: string, href: string): boolean {
  if (href === '/') return path === '/' || path.startsWith('/inbox/');
  return path === href || path.startsWith(`${href}/`);
}
