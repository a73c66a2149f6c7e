// The targets of a stored notification at its first attempt, by id: a dispatch holds no address and no token.
import type { NormalizedRequest, Qos } from '@tocsin/contract';
import type { OutcomeKind } from './outcome.ts';
import type { Plan } from './plan.ts';

/** As `dispatches.targets` stores it in JSON: the fields beside `qos` and `isStrict` are names of channels. */
export interface Dispatch {
  readonly qos: Qos;
  /** Failures of channels that report strictly are returned to the caller and not retried. */
  readonly isStrict: boolean;
  /** Ids of targets; a boolean for a channel with one target. */
  readonly [channel: string]: readonly string[] | boolean | Qos;
}

/** Results of the first attempt, one per target, in the order of the dispatch. */
export type DispatchResults = Readonly<Record<string, readonly OutcomeKind[]>>;

/** null when there are no targets that could be retried. */
export function dispatchOf(request: NormalizedRequest, plan: Plan): Dispatch | null {
  const dispatch: { [channel: string]: Dispatch[string] } & Pick<Dispatch, 'qos' | 'isStrict'> = {
    qos: request.mqttQos,
    isStrict: request.strictDelivery,
  };
  let hasTargets = false;
  for (const { channel, targets, isTransient } of plan) {
    const kept = isTransient ? [] : targets;
    dispatch[channel.name] = channel.hasOneTarget ? kept.length > 0 : kept.map(({ id }) => id);
    hasTargets ||= kept.length > 0;
  }
  return hasTargets ? dispatch : null;
}

const noTargets: readonly string[] = [];
const onlyTarget: readonly string[] = [''];

export function targetIdsOf(dispatch: Dispatch, channel: string): readonly string[] {
  const targets = dispatch[channel];
  if (targets === true) return onlyTarget;
  return Array.isArray(targets) ? (targets as readonly string[]) : noTargets;
}

export function channelsOf(dispatch: Dispatch): string[] {
  return Object.keys(dispatch).filter((name) => name !== 'qos' && name !== 'isStrict');
}
