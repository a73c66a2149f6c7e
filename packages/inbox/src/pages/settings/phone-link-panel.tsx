// A QR code with a one-time link that signs a phone in. Created on demand, because the link grants access until it expires.

import type { PhoneLink } from '@tocsin/contract/console';
import { signInRoutes } from '@tocsin/contract/console/routes';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { showError } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { formatCountdown, isLoopback } from './phone-address.ts';

const words = text.settings.phone;

export function PhoneLinkPanel() {
  const { service } = useSession();
  const [link, setLink] = useState<PhoneLink | null>(null);
  const create = (): Promise<void> => call(signInRoutes.createPhoneLink).then(setLink, showError);
  return (
    <>
      {isLoopback(service.consoleUrl) && <Notice kind="warning">{words.loopback(service.consoleUrl)}</Notice>}
      {link === null ? (
        <div>
          <Button icon="device" onClick={create}>
            {words.show}
          </Button>
        </div>
      ) : (
        <PhoneCode key={link.url} link={link} onRenew={create} />
      )}
    </>
  );
}

function PhoneCode({ link, onRenew }: { link: PhoneLink; onRenew: () => Promise<void> }) {
  const [leftMs, setLeftMs] = useState(link.expiresAt - Date.now());
  useEffect(() => {
    const timer = setInterval(() => setLeftMs(link.expiresAt - Date.now()), 1000);
    return () => clearInterval(timer);
  }, [link]);
  if (leftMs <= 0)
    return (
      <div class="settings-group">
        <p role="status">{words.expired}</p>
        <Button icon="refresh" onClick={onRenew}>
          {words.renew}
        </Button>
      </div>
    );
  return (
    <div class="settings-phone">
      <QrCode value={link.url} label={words.codeLabel} />
      <div class="stack">
        <p>{words.scan}</p>
        <p class="soft small" role="timer">
          {words.left(formatCountdown(leftMs))}
        </p>
        <div class="row">
          <Button small icon="refresh" onClick={onRenew}>
            {words.renew}
          </Button>
          <CopyButton value={link.url} what={words.link} hasLabel />
        </div>
      </div>
    </div>
  );
}
