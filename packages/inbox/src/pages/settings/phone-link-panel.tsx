// A QR code with a link that signs a phone in. Made on demand: each is a way in until it is used or too old.
import type { PhoneLink } from '@tocsin/contract/console';
import { useEffect, useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { showError } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { isOnlyHere, minutesAndSeconds } from './phone-address.ts';

const words = text.settings.phone;

export function PhoneLinkPanel() {
  const { service } = useSession();
  const [link, setLink] = useState<PhoneLink | null>(null);
  const make = (): Promise<void> => post<PhoneLink>('/phone-link').then(setLink, showError);
  return (
    <>
      {isOnlyHere(service.consoleUrl) && <Notice kind="warning">{words.loopback(service.consoleUrl)}</Notice>}
      {link === null ? (
        <div>
          <Button icon="device" onClick={make}>
            {words.show}
          </Button>
        </div>
      ) : (
        <PhoneCode key={link.url} link={link} onRenew={make} />
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
          {words.left(minutesAndSeconds(leftMs))}
        </p>
        <div class="row">
          <Button small icon="refresh" onClick={onRenew}>
            {words.renew}
          </Button>
          <CopyButton value={link.url} what={words.link} wordy />
        </div>
      </div>
    </div>
  );
}
