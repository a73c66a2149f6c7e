// What the gateway knows about one way to reach people. channels/registry.ts has the list of all channels.
import type { ChannelReport, CustomBroker, NormalizedRequest, Qos, Warning } from '@tocsin/contract';
import type { Notification } from './notification.ts';
import type { Outcome, Retry } from './outcome.ts';
import type { Recipients } from './recipients.ts';
import type { Reservation } from './reservation.ts';
import type { SettingsReader } from './settings-reader.ts';

export interface ChannelTarget {
  /**
   * Unique among the targets of one owner on this channel; empty if the owner has exactly one. Dispatches and retries
   * store it instead of an address or a token.
   */
  readonly id: string;
}

/** A channel as a value. Everything here is pure; the channel is opened by its module in channels/. */
export interface ChannelDefinition<Target extends ChannelTarget = ChannelTarget, Settings = unknown> {
  /** Identifies the channel in rows, metrics, the log and the API. Neither `qos` nor `isStrict`: see Dispatch. */
  readonly name: string;
  /** For people: `MQTT`. */
  readonly label: string;
  /** What receives the messages, at the start of a sentence: `The MQTT broker`. */
  readonly provider: string;
  /** Circuit breakers: label in metrics and log → name for people. Default: one, with the name and label of the channel. */
  readonly breakers?: Readonly<Record<string, string>>;
  /** Values of the label `channel` in metrics, if not the name alone. */
  readonly observedNames?: readonly string[];
  /** Which of them a send counts as. */
  observedName?(options: SendOptions): string;
  /** The owner is the only target, and its id is empty: dispatches then store a boolean instead of a list of ids. */
  readonly hasOneTarget?: true;
  /** With `strictDelivery`, failures are reported to the caller instead of retried. */
  readonly reportsStrictly?: true;
  /** While the channel is down, its health check decides whether it has recovered, and not only the next send. */
  readonly isProbedWhenDown?: true;
  /** How the retry queue of one target is drained. */
  readonly drain?: DrainOptions;

  /** Reads its environment variables; null: the operator has not configured it. */
  settings(read: SettingsReader): Settings | null;
  /** The targets of a request, without quiet hours. May throw a Refusal. */
  plan(request: NormalizedRequest, recipients: Recipients): PlannedChannel<Target>;
  /** The plan of a request whose process died, as far as it follows from the stored ids of its targets. */
  planFromDispatch(request: NormalizedRequest, targetIds: readonly string[]): PlannedChannel<Target>;
  /** A stored target as it is now. */
  resolve(recipients: Recipients, targetId: string): Target | UnavailableTarget;
  /** Names for people, by target id. */
  describe(read: TargetReader): Promise<ReadonlyMap<string, string>>;
  /** What is known about sent messages beyond that the provider accepted them, by target id. */
  progress?(
    read: TargetReader,
    notificationId: string,
    targetIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeliveryProgress>>;
  /** The flat fields of the response contract. Channels without them appear in its list `channels`. */
  report?(planned: PlannedChannel<Target>, outcomes: readonly Outcome[], request: NormalizedRequest): FlatReport;
}

export type ChannelDefinitions = readonly ChannelDefinition[];

export function breakersOf({ name, label, breakers }: ChannelDefinition): Readonly<Record<string, string>> {
  return breakers ?? { [name]: label };
}

/** Settings by channel; null or missing: not configured. */
export type ChannelSettings = ReadonlyMap<string, unknown>;

export function settingsOf<Target extends ChannelTarget, Settings>(
  settings: ChannelSettings,
  { name }: Pick<ChannelDefinition<Target, Settings>, 'name' | 'settings'>,
): Settings | null {
  return (settings.get(name) ?? null) as Settings | null;
}

/** What a request sends over one channel. */
export interface PlannedChannel<Target extends ChannelTarget = ChannelTarget> {
  readonly channel: ChannelDefinition;
  /** Neither the request nor the owner disabled the channel. */
  readonly enabled: boolean;
  readonly targets: readonly Target[];
  /** Why there are no targets; null where there are some, or where the contract has no reason. */
  readonly skipReason: string | null;
  /** Targets were removed because of the owner's quiet hours. */
  readonly isMuted?: true;
  /** Quiet hours do not apply to this request. */
  readonly ignoresQuietHours?: true;
  /** The request brought the connection, and its credentials are not stored: nothing is dispatched or retried. */
  readonly isTransient?: true;
}

export type UnavailableTarget = (Outcome & { kind: 'gone' }) | Retry;

export interface FlatReport {
  fields: Partial<ChannelReport>;
  warnings: readonly Warning[];
}

export interface DrainOptions {
  /** Deliveries between two writes of their results: after a crash these may be sent twice. */
  batch: number;
  /** Sends to one target that are in flight at once. */
  concurrency: number;
  /** The same for a queue that is behind. One at a time, it would never end under load. */
  concurrencyWhenBehind: number;
}

export type DeliveryProgress = { state: 'queued' } | { state: 'delivered'; deliveredAt: number };

/** Reads what one owner has stored about targets. */
export interface TargetReader {
  email(): string | null;
  devices(): Promise<readonly { id: string; name: string }[]>;
  pushTargets(): Promise<readonly { id: string; provider: string; label: string | null }[]>;
  mqttProgress(notificationId: string, deviceIds: readonly string[]): Promise<ReadonlyMap<string, DeliveryProgress>>;
}

export interface SendOptions {
  qos: Qos;
  /** A broker from the request; null: the service's own. */
  customBroker: CustomBroker | null;
  /** The notification could not be stored: no queue can refer to its row. */
  isStored?: false;
}

/**
 * Sends to targets. `send` returns one outcome per target, in order, and never rejects. When the signal aborts it settles
 * at once: what is not known to be sent by then is a `retry`.
 */
export interface Channel<Target extends ChannelTarget = ChannelTarget> {
  send(
    notification: Notification,
    targets: readonly Target[],
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<readonly Outcome[]>;
  /** How long one send may take; the caller sets the deadline and hands it down as the signal. */
  timeoutMs?(options: SendOptions): number;
  /**
   * Instead of a send: the messages are stored together with the notification. null if the channel cannot do that now for
   * all targets.
   */
  reserve?(notification: Notification, targets: readonly Target[], options: SendOptions): Reservation | null;
}

/** The same channel with another way to send. */
export function withSend<Target extends ChannelTarget>(
  channel: Channel<Target>,
  send: Channel<Target>['send'],
): Channel<Target> {
  return { ...channel, send };
}

/** No send takes longer, whatever the timeout of its channel is. */
export const longestSendMs = 10_000;

export function timeoutOf<Target extends ChannelTarget>(channel: Channel<Target>, options: SendOptions): number {
  return Math.min(channel.timeoutMs?.(options) ?? longestSendMs, longestSendMs);
}

/** A configured channel of a running process. */
export interface OpenChannel<Target extends ChannelTarget = ChannelTarget> extends Channel<Target> {
  /** null when the provider responds; otherwise what is wrong and what to do, without secrets. */
  check(): Promise<string | null>;
  /** Calls back when queued deliveries should be retried at once: the provider is connected, or has capacity again. */
  onRecovered?(listener: () => void): void;
  /** The messages that targets acknowledged are known: see `progress`. */
  readonly keepsReceipts?: boolean;
  close(): Promise<void>;
}

/** By name; channels that are not configured are included, and reject everything. */
export type Channels = ReadonlyMap<string, Channel>;

export function mapChannels(channels: Channels, map: (channel: Channel, name: string) => Channel): Channels {
  return new Map([...channels].map(([name, channel]) => [name, map(channel, name)]));
}

/** Brokers from callers have no breaker. */
export type OnBreakerState = (breaker: string, state: BreakerState, cause: string) => void;
export type BreakerState = 'closed' | 'half_open' | 'open';
