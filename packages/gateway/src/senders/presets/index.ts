// The one list of presets. A hook with the preset `auto` uses the first that recognizes the request.
import { Refusal } from '../../core/refusal.ts';
import { dialectAt, dialects } from '../dialects/index.ts';
import type { IgnoredEvent, Preset, SenderEvent, SenderRequest, SignedRequest } from '../event.ts';
import { readGeneric } from '../generic.ts';
import { alertmanager } from './alertmanager.ts';
import { awsSns } from './aws-sns.ts';
import { azureDevOps } from './azure-devops.ts';
import { bitbucket } from './bitbucket.ts';
import { cloudEvents } from './cloudevents.ts';
import { datadog } from './datadog.ts';
import { discord } from './discord.ts';
import { dockerHub } from './docker-hub.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { grafana } from './grafana.ts';
import { healthchecks } from './healthchecks.ts';
import { homeAssistant } from './home-assistant.ts';
import { jellyfinPlex } from './jellyfin-plex.ts';
import { jenkins } from './jenkins.ts';
import { linear } from './linear.ts';
import { netdata } from './netdata.ts';
import { newRelic } from './new-relic.ts';
import { opsgenie } from './opsgenie.ts';
import { pagerduty } from './pagerduty.ts';
import { proxmox } from './proxmox.ts';
import { sentry } from './sentry.ts';
import { servarr } from './servarr.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { standardWebhooks } from './standard-webhooks.ts';
import { stripe } from './stripe.ts';
import { teams } from './teams.ts';
import { uptimeKuma } from './uptime-kuma.ts';
import { zabbix } from './zabbix.ts';

/** Header matches come before matches by the shape of a body. */
export const presets: readonly Preset[] = [
  // Recognized by a header.
  // Gitea sends the headers of GitHub too.
  gitea,
  github,
  // GitLab may sign by Standard Webhooks.
  gitlab,
  bitbucket,
  linear,
  standardWebhooks,
  sentry,
  pagerduty,
  opsgenie,
  stripe,
  shopify,
  awsSns,
  cloudEvents,
  servarr,
  healthchecks,
  // Recognized by the shape of the body.
  grafana,
  alertmanager,
  uptimeKuma,
  azureDevOps,
  jenkins,
  dockerHub,
  datadog,
  newRelic,
  netdata,
  zabbix,
  proxmox,
  jellyfinPlex,
  teams,
  // Chat messages, which have few names of their own.
  slack,
  discord,
  // The header says who sends, but not what: Home Assistant can send the shapes above as well.
  homeAssistant,
];

/** Addresses of dialects come before everything else. */
const readers: readonly Preset[] = [...dialects, ...presets];

export const autoPreset = 'auto';
export const genericPreset = 'generic';

/** The names that a hook may have as its preset. */
export function presetNames(): string[] {
  return [autoPreset, genericPreset, ...readers.map(({ name }) => name)];
}

/** Whether the sender of a preset signs its requests. */
export function isSigning(name: string): boolean {
  return presets.some((preset) => preset.name === name && preset.signatureProblem !== undefined);
}

/**
 * What is wrong with the signature of a request to a hook with a secret; null: nothing. The preset that the hook names
 * checks it, never one that the request could choose.
 */
export function signatureProblem(presetName: string, signed: SignedRequest): string | null {
  const preset = presets.find(({ name }) => name === presetName);
  return preset?.signatureProblem?.(signed) ?? (isSigning(presetName) ? null : `the preset ${presetName} checks none`);
}

/** null: the generic rule. */
export function choosePreset(name: string, request: SenderRequest): Preset | null {
  if (name === genericPreset) return null;
  const found =
    name === autoPreset
      ? (dialectAt({ ...request, isRoot: false }) ?? readers.find((preset) => preset.matches(request)))
      : readers.find((preset) => preset.name === name);
  return found ?? null;
}

/** An event that the preset does not know, or fails on, falls to the generic rule. Throws a Refusal. */
export function readEvent(
  preset: Preset | null,
  request: SenderRequest,
  onFailed: (preset: string, error: unknown) => void,
): SenderEvent | IgnoredEvent {
  if (request.body.text.trim() === '' && preset?.acceptsEmptyBody !== true) {
    throw new Refusal('empty_payload', { details: [{ field: 'body', problem: 'is empty' }] });
  }
  try {
    return preset?.read(request) ?? readGeneric(request);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    onFailed(preset?.name ?? genericPreset, error);
    return { body: request.body.text };
  }
}
