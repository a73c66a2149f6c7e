// Dependencies of the console API; composition/console.ts provides them.
import type { ServiceInfo } from '@tocsin/contract/console';
import type { FastifyRequest } from 'fastify';
import type { ChannelDefinitions } from '../core/channel.ts';
import type { Process } from '../usecases/accept.ts';
import type { Owner, Store } from '../usecases/ports/index.ts';
import type { SignInMethod } from '../usecases/ports/sign-in.ts';
import type { Environment } from '../usecases/registration.ts';
import type { Addresses } from './addresses.ts';
import type { OidcProvider } from './sign-in/oidc-types.ts';

export interface ConsoleApiDeps {
  store: Store;
  now: () => number;
  environment: Environment;
  addresses: Addresses;
  definitions: ChannelDefinitions;
  /** Stores and delivers a notification like the public API, but with a given plan: for test sends. */
  process: Process;
  /** The address of the client, also behind a trusted proxy. */
  clientAddress: (request: FastifyRequest) => string;
  /** null: no SMTP server is configured. */
  mailer: AccountMailer | null;
  /** null: no OpenID provider is configured. */
  oidc: OidcProvider | null;
  /** Encrypts cookies that hold state between two requests; the same on every node. */
  cookieKey: Buffer;
  /** What is wrong with a Web Push subscription, given as JSON; null: nothing. */
  webPushProblem: (subscription: string) => string | null;
  topicPrefix: string;
  /** A session ends after this time, however often it is used. */
  sessionMaxMs: number;
  service: Pick<ServiceInfo, 'version' | 'webPushKey' | 'retentionDays' | 'knowsLastSeen' | 'channels'>;
  /** Aborts at shutdown, which ends streaming responses. */
  stopping: AbortSignal;
  onError: (error: unknown, request: FastifyRequest) => void;
  /** Reports an email that was sent after the response, so that its failure cannot be shown to the user. */
  onEmailFailed: (cause: string) => void;
  onOidcFailed: (cause: string) => void;
}

/** The SMTP server did not accept an email. The message is safe for the log: no address, no text of the server. */
export class EmailNotSent extends Error {
  override readonly name = 'EmailNotSent';
}

/** Events that an owner must learn of, because they give access to the account. */
export type SecurityNotice =
  | { kind: 'new-browser'; method: SignInMethod; userAgent: string; address: string; at: number }
  | { kind: 'new-passkey'; name: string; at: number }
  /** null: the address was removed. */
  | { kind: 'email-changed'; email: string | null; at: number };

/** Emails about the account. Each call resolves when the SMTP server has accepted the email, else rejects with EmailNotSent. */
export interface AccountMailer {
  sendSignInLink(owner: Owner & { email: string }, url: string): Promise<void>;
  sendEmailConfirmation(owner: Owner, email: string, url: string): Promise<void>;
  /** `settingsUrl` leads to the page where the owner can undo the change. */
  sendSecurityNotice(owner: Owner & { email: string }, notice: SecurityNotice, settingsUrl: string): Promise<void>;
}
