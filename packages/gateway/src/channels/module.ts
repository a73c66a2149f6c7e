// A channel with its input and output: how it is opened, and what doctor reports about it.
import type { AddressPolicy } from '../core/address-policy.ts';
import type { ChannelDefinition, ChannelTarget, OnBreakerState, OpenChannel } from '../core/channel.ts';
import type { Store } from '../usecases/ports/index.ts';
import type { MqttPublisher } from './mqtt/publisher.ts';

export interface ChannelModule<
  Target extends ChannelTarget = ChannelTarget,
  Settings = unknown,
  Opened extends OpenChannel<Target> = OpenChannel<Target>,
> extends ChannelDefinition<Target, Settings> {
  /** Why nothing is sent without settings, and which variables to set. */
  readonly notConfigured: string;
  /** The guard that `openChannels` puts around its sends; `own` if it is opened with guards, one per provider for instance. */
  readonly guard: SendLimits<Settings> | 'own';
  /** Loads the libraries of the provider only here: commands that send nothing start faster without them. */
  open(settings: Settings, tools: ChannelTools): Promise<Opened>;
  /** Findings of `tocsin doctor`; default: the result of the health check. */
  diagnose?(settings: Settings, opened: Opened, context: DiagnosisContext): Promise<Finding[]>;
  /** Warnings at start for an installation that is older than a stricter default. */
  legacyWarnings?(settings: Settings): string[];
}

export type ChannelModules = readonly ChannelModule[];

export interface SendLimits<Settings> {
  /** How long one send may take. */
  timeoutMs(settings: Settings): number;
  /** Sends that run at once; as many again may wait. */
  maxConcurrent: number;
}

export interface ChannelTools {
  store: Pick<Store, 'secrets' | 'pushTargets' | 'isLegacy'>;
  /** Private networks that connections to addresses from callers and browsers may reach. */
  allowedNetworks: AddressPolicy['allowed'];
  /** The broker for devices: the operator's, or the embedded one. */
  publisher: MqttPublisher;
  /** 0: notifications are kept for ever. */
  retentionDays: number;
  now: () => number;
  onBreakerState?: OnBreakerState;
}

export interface Finding {
  state: 'ok' | 'warning' | 'failed';
  message: string;
}

export interface DiagnosisContext {
  isLegacy: boolean;
  /** null: people reach the console under the address on which it listens. */
  consoleUrl: string | null;
  /** The console of the server on this machine: its address, null if it is not known, and whether it responds. */
  server: { url: string | null; isRunning: boolean };
  /** The address on which a port of this configuration listens; null for a port that the system chooses. */
  listenerUrl(scheme: string, port: number): string | null;
  now: () => number;
}
