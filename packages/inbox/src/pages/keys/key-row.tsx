import type { KeyEntry } from '@tocsin/contract/console';
import { keyRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Ago, fullTime } from '../../components/time.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { text } from '../../text/index.ts';
import type { RateUnit } from './key-form.ts';

const words = text.keys;

export function KeyRow({ entry, onChange }: { entry: KeyEntry; onChange: () => Promise<void> }) {
  const [isConfirming, setConfirming] = useState(false);
  const name = entry.label ?? words.unnamed;
  const isExpired = entry.expiresAt !== null && entry.expiresAt <= Date.now();
  const revoke = async (): Promise<void> => {
    try {
      await call(keyRoutes.revokeKey, { params: { id: entry.id } });
      showToast(words.wasRevoked(name));
      await onChange();
    } catch (error) {
      showError(error);
    }
    setConfirming(false);
  };
  return (
    <li class={entry.revokedAt === null ? 'card keys-item' : 'card keys-item muted'}>
      <div class="keys-main">
        <Icon name="key" />
        <div class="grow">
          <h2>{name}</h2>
          <p class="small soft">
            {words.types[entry.type]} · {words.created} <Ago at={entry.createdAt} /> · <Expiry entry={entry} />
          </p>
        </div>
        {entry.revokedAt !== null && (
          <span class="badge">
            <Icon name="close" />
            <span>
              {words.revoked} <Ago at={entry.revokedAt} />
            </span>
          </span>
        )}
        {entry.revokedAt === null && isExpired && (
          <span class="badge warning">
            <Icon name="warning" />
            {words.expired}
          </span>
        )}
        {entry.revokedAt === null && (
          <Button small kind="quiet" danger aria-label={words.revokeOf(name)} onClick={() => setConfirming(true)}>
            {words.revoke}
          </Button>
        )}
      </div>
      <ul class="keys-rules small">
        <li>
          <Icon name="globe" />
          {entry.allowedDomains.length === 0 ? words.anyDomain : words.domains(entry.allowedDomains.join(', '))}
        </li>
        {entry.requireSignature && (
          <li>
            <Icon name="check" />
            {words.signed}
          </li>
        )}
        {entry.rateLimit !== null && (
          <li>
            <Icon name="filter" />
            {words.limit(describeRate(entry.rateLimit))}
          </li>
        )}
        {!(entry.type in words.typeHints) && (
          <li>
            <Icon name="warning" />
            {words.cannotSend}
          </li>
        )}
      </ul>
      {isConfirming && (
        <ConfirmDialog
          title={words.revokeTitle(name)}
          message={words.revokeMessage}
          action={words.revoke}
          onConfirm={revoke}
          onClose={() => setConfirming(false)}
        />
      )}
    </li>
  );
}

function Expiry({ entry: { expiresAt } }: { entry: KeyEntry }) {
  if (expiresAt === null) return <>{words.neverExpires}</>;
  return (
    <>
      {expiresAt <= Date.now() ? words.expired : words.expires} {fullTime(expiresAt)}
    </>
  );
}

/** Converts `100/m` to "100 per minute". */
function describeRate(rate: string): string {
  const [count = '', unit] = rate.split('/');
  return words.rate(count, words.units[unit as RateUnit]);
}
