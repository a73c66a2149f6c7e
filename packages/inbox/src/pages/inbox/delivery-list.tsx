import type { DeliveryEntry } from '@tocsin/contract/console';
import { presentChannel } from '../../channels.ts';
import { Button } from '../../components/button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { clockTime, fullTime } from '../../components/time.tsx';
import { type DeliveryDescription, describeDelivery } from '../../inbox/describe-delivery.ts';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';

const toneIcons = { good: 'check', busy: 'send', warning: 'clock', error: 'warning' } as const satisfies Record<
  DeliveryDescription['tone'],
  IconName
>;
const dayMs = 24 * 3600 * 1000;

interface DeliveryListProps {
  deliveries: readonly DeliveryEntry[];
  isOffline: boolean;
  onRetry: (delivery: DeliveryEntry) => Promise<void>;
}

export function DeliveryList({ deliveries, isOffline, onRetry }: DeliveryListProps) {
  const { channels } = useSession().service;
  if (deliveries.length === 0) return <p class="soft">{text.inbox.noDeliveries}</p>;
  const now = Date.now();
  // From a day on, the time of day alone would be ambiguous.
  const clock = (at: number): string => (at - now < dayMs ? clockTime(at) : fullTime(at));
  return (
    <ul class="inbox-deliveries">
      {deliveries.map((delivery) => {
        const { target, outcome, tone, canRetry } = describeDelivery(delivery, now, clock, channels);
        return (
          <li key={`${delivery.channel} ${delivery.target}`} class={tone}>
            <Icon name={presentChannel(delivery.channel).icon} />
            <span class="grow">
              <strong dir="auto">{target}</strong>
              <span class="visually-hidden">: </span>
              <span class="inbox-outcome" dir="auto">
                <Icon name={toneIcons[tone]} />
                <span>{outcome}</span>
              </span>
            </span>
            {canRetry && (
              <Button
                small
                icon="refresh"
                aria-label={text.inbox.retryOf(target)}
                disabled={isOffline}
                onClick={() => onRetry(delivery)}
              >
                {text.inbox.retry}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
