// The rules for the fields of a hook, which the command line and the console share.
import { hookLimits, lineProblem } from '@tocsin/contract';
import { autoPreset, isSigning, presetNames } from '../senders/presets/index.ts';
import type { HookFields } from './hooks.ts';

export interface HookProblem {
  field: keyof HookFields;
  problem: string;
}

export function hookProblems(
  { name, preset, secret, repeatSeconds, disabledChannels }: Partial<HookFields>,
  channels: readonly string[],
): HookProblem[] {
  const problems: (HookProblem | null)[] = [
    name === undefined ? null : problemOf('name', lineProblem(name, hookLimits.nameCharacters)),
    preset === undefined || presetNames().includes(preset)
      ? null
      : { field: 'preset', problem: `must be one of ${presetNames().join(', ')}` },
    secret === undefined || secret === null ? null : problemOf('secret', secretProblem(secret)),
    // With `auto` a request could choose how its signature is checked.
    secret && !isSigning(preset ?? autoPreset)
      ? { field: 'preset', problem: 'must name a sender that signs its requests if there is a signing secret' }
      : null,
    repeatSeconds === undefined || isRepeatTime(repeatSeconds)
      ? null
      : { field: 'repeatSeconds', problem: `must be 0 to ${hookLimits.maxRepeatSeconds} seconds` },
    ...(disabledChannels ?? [])
      .filter((channel) => !channels.includes(channel))
      .map((channel) => ({ field: 'disabledChannels' as const, problem: `has no channel '${channel}'` })),
  ];
  return problems.filter((problem) => problem !== null);
}

function problemOf(field: keyof HookFields, problem: string | null): HookProblem | null {
  return problem === null ? null : { field, problem };
}

function secretProblem(secret: string): string | null {
  if (secret.trim() === '') return 'must not be empty';
  return secret.length > hookLimits.secretCharacters
    ? `must not exceed ${hookLimits.secretCharacters} characters`
    : null;
}

function isRepeatTime(seconds: number): boolean {
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= hookLimits.maxRepeatSeconds;
}
