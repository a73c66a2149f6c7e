// What happened on an MQTT connection, in words for people. Nothing that the broker sent and no credential is among them.
import { type NotSent, type Outcome, rejected, retry } from '../../core/outcome.ts';
import type { PublishResult } from './publisher.ts';

/** Quota exceeded, or a packet id that is taken: the same message may be welcome later. */
const temporaryCodes = new Set([145, 151]);

/** Reason codes of MQTT 5 for a PUBLISH. */
const refusals: Record<number, string> = {
  135: 'not authorized',
  144: 'it does not take the topic',
  151: 'quota exceeded',
};

export function outcomeOf(result: PublishResult): Outcome {
  switch (result.kind) {
    case 'taken':
      return { kind: 'sent' };
    case 'lost':
      return unreachable('The connection to the MQTT broker was lost');
    case 'late':
      return unreachable('The MQTT broker did not respond in time');
    case 'tooLarge':
      return { kind: 'rejected', reason: 'refused', error: 'The message is larger than the MQTT broker allows' };
    case 'badQos':
      return {
        kind: 'rejected',
        reason: 'refused',
        error: 'The MQTT broker does not support the quality of service that was asked for',
      };
    case 'refused': {
      const error = `The MQTT broker refused the message (${refusals[result.code] ?? result.code})`;
      return temporaryCodes.has(result.code) ? retry('deferred', error) : rejected('refused', error);
    }
  }
}

export function unreachable(error: string): NotSent {
  return { kind: 'retry', reason: 'unreachable', error };
}

export interface ConnectionProblem {
  /** Goes after "The MQTT broker "; default: "cannot be reached". */
  how?: string;
  /** Goes after `how` and a colon. */
  what: string;
  /** For the operator. */
  advice: string;
}

const byCode: Record<string, ConnectionProblem> = {
  ECONNREFUSED: { what: 'connection refused', advice: 'Is it running, and is the port right?' },
  ENOTFOUND: { what: 'unknown host name', advice: 'Is the host name right?' },
  EAI_AGAIN: { what: 'the host name could not be looked up', advice: 'Does name resolution work here?' },
  ETIMEDOUT: { what: 'no response', advice: 'Are host and port right, and does a firewall let them through?' },
  EHOSTUNREACH: { what: 'no way to the host', advice: 'Is the host right, and the network up?' },
  ENETUNREACH: { what: 'no way to the host', advice: 'Is the host right, and the network up?' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'its certificate is for another host name',
    advice: 'Use the name that the certificate was made for.',
  },
  CERT_HAS_EXPIRED: { what: 'its certificate has expired', advice: 'Renew the certificate of the broker.' },
};

const refuses = 'refuses the connection';
const notAuthorized: ConnectionProblem = {
  how: refuses,
  what: 'not authorized',
  advice: 'Check TOCSIN_MQTT_USERNAME and TOCSIN_MQTT_PASSWORD.',
};
const busy: ConnectionProblem = {
  how: refuses,
  what: 'it is not available',
  advice: 'Look into the log of the broker.',
};
const byReason: Record<number, ConnectionProblem> = {
  1: { how: refuses, what: 'it speaks neither MQTT 5 nor 3.1.1', advice: 'Use a broker that does.' },
  2: { how: refuses, what: 'it does not take the client id', advice: 'Look into the log of the broker.' },
  3: busy,
  4: notAuthorized,
  5: notAuthorized,
  132: { how: refuses, what: 'it speaks neither MQTT 5 nor 3.1.1', advice: 'Use a broker that does.' },
  134: notAuthorized,
  135: notAuthorized,
  136: busy,
  137: busy,
  138: { how: refuses, what: 'it has banned this client', advice: 'Look into the log of the broker.' },
  139: busy,
  142: {
    how: 'ended the connection',
    what: 'another client took over the session',
    advice: 'Look into the log of the broker.',
  },
};

/** A broker of MQTT 3.1.1 that does not allow a publish, or does not take its topic, has no other way to say so. */
const hungUpOnPublish: ConnectionProblem = {
  how: 'closed the connection',
  what: 'messages were being published to it',
  advice: "It may not allow the user or the topics: 'tocsin doctor' tries it. Look into the log of the broker, too.",
};

/** Why a connection ended that had come about. */
export function endOf(connection: { endedWhilePublishing: boolean }, error: unknown): ConnectionProblem {
  const problem = problemOf(error);
  return problem.what === hungUp.what && connection.endedWhilePublishing ? hungUpOnPublish : problem;
}

export function withoutAdvice({ how = 'cannot be reached', what }: ConnectionProblem): string {
  return `${how}: ${what}`;
}

const hungUp: ConnectionProblem = {
  what: 'connection closed',
  advice: 'Are port and protocol right? Look into the log of the broker.',
};

/** Why a connection did not come about, or ended. */
export function problemOf(error: unknown): ConnectionProblem {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'number') return byReason[code] ?? { how: refuses, what: `reason ${code}`, advice: busy.advice };
  if (typeof code === 'string') {
    const known = byCode[code];
    if (known !== undefined) return known;
    if (/CERT|SELF_SIGNED|UNABLE_TO_|ISSUER/.test(code)) {
      return {
        what: 'its certificate is not trusted',
        advice: 'Set TOCSIN_MQTT_CA to the certificate of the authority that signed it.',
      };
    }
    if (/SSL|TLS|EPROTO/.test(code)) {
      return { what: 'TLS failed', advice: 'Does the port speak TLS? If not, begin the address with mqtt: or ws:.' };
    }
  }
  if (message === 'connack timeout' || message === 'Keepalive timeout') return byCode.ETIMEDOUT as ConnectionProblem;
  return hungUp;
}
