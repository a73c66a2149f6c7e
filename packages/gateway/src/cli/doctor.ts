import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ChannelModule, DiagnosisContext } from '../channels/module.ts';
import { type ChannelSet, channels } from '../channels/registry.ts';
import { hostWarning } from '../config/legacy-warnings.ts';
import { type Config, readConfig } from '../config/server.ts';
import type { OpenChannel } from '../core/channel.ts';
import { listenerUrl } from '../core/device-urls.ts';
import { dayMs } from '../core/duration.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import { readCertificate } from '../process/tls/certificate.ts';
import { askOwnServer } from '../process/tls/own-server.ts';
import { databaseFileName, fileExists, masterKeyFileName } from '../store/files/data-directory.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../usecases/ports/index.ts';
import { clockProblem } from '../usecases/retention.ts';
import { needsVerifiedPasskey } from '../usecases/user-verification.ts';
import { type Command, listReadableOwners, refusedOwners } from './command.ts';
import { withChannels } from './test-sends.ts';

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'failed';
  message: string;
}

export const doctorCommand: Command = {
  summary: 'Check configuration, store and channels, and report what to fix',
  options: {
    deep: { kind: 'flag', help: 'also decrypt every stored row' },
    'trust-rows': {
      kind: 'flag',
      help: 'accept the current rows of owners, keys and sign-ins, after rows were refused',
    },
  },
  run: async (args, environment) => {
    const findings = await examine(environment, args.flag('deep'), args.flag('trust-rows'));
    const marks = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' };
    return {
      json: { ok: findings.every(({ state }) => state !== 'failed'), findings },
      text: findings.map(({ check, state, message }) => `${marks[state]}  ${check}: ${message}`).join('\n'),
      exitCode: findings.some(({ state }) => state === 'failed') ? 1 : 0,
    };
  },
};

async function examine(environment: NodeJS.ProcessEnv, deep: boolean, trustRows: boolean): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(environment);
  } catch (error) {
    if (error instanceof Problem) return [{ check: 'configuration', state: 'failed', message: error.message }];
    throw error;
  }
  const store = await examineStore(config, deep, trustRows);
  const isOpen = store.every(({ state }) => state !== 'failed');
  return [
    ...examineConfig(config),
    ...examineDatabaseUrl(config),
    ...examineKeyFile(config),
    ...(await examineCertificate(config)),
    ...store,
    ...(isOpen ? await examineChannels(config) : []),
  ];
}

function examineConfig({ unknownVariables }: Config): Finding[] {
  const check = 'configuration';
  if (unknownVariables.length === 0) return [{ check, state: 'ok', message: 'all variables are known' }];
  const message = `unknown variables (typo?): ${unknownVariables.join(', ')}`;
  return [{ check, state: 'warning', message }];
}

/** A connection to the local machine need not be encrypted. */
function examineDatabaseUrl({ databaseUrl }: Config): Finding[] {
  if (databaseUrl === null) return [];
  const { hostname, searchParams } = new URL(databaseUrl);
  const host = searchParams.get('host') ?? hostname;
  const isLocal = host === '' || host.startsWith('/') || /^(localhost|127\.[\d.]+|\[?::1\]?)$/.test(host);
  const isEncrypted = /^(require|verify-ca|verify-full|no-verify)$/.test(searchParams.get('sslmode') ?? '');
  if (isLocal || isEncrypted || searchParams.get('ssl') === 'true') return [];
  const message = 'the connection is not encrypted: add sslmode=verify-full to TOCSIN_DATABASE_URL';
  return [{ check: 'database connection', state: 'warning', message }];
}

function examineKeyFile({ dataDir, masterKey }: Config): Finding[] {
  const check = 'master key';
  const file = join(dataDir, masterKeyFileName);
  if (masterKey !== null) return [{ check, state: 'ok', message: 'set in the environment' }];
  try {
    if (!fileExists(file)) return [];
  } catch (error) {
    if (error instanceof Problem) return [{ check, state: 'failed', message: error.message }];
    throw error;
  }
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    return [{ check, state: 'failed', message: `readable by other users of this machine: run 'chmod 600 ${file}'` }];
  }
  return [{ check, state: 'ok', message: `in ${file}; keep a copy of it apart from the backups of the database` }];
}

const expiryWarningMs = 14 * dayMs;

async function examineCertificate({ tls }: Config): Promise<Finding[]> {
  if (tls === null) return [];
  const check = 'certificate';
  try {
    const { names, validFrom, validTo } = await readCertificate(tls);
    const until = validTo.toISOString();
    const left = validTo.getTime() - Date.now();
    if (validFrom.getTime() > Date.now()) {
      return [{ check, state: 'failed', message: `not valid before ${validFrom.toISOString()}: is the clock right?` }];
    }
    if (left <= 0) return [{ check, state: 'failed', message: `expired at ${until}: renew it` }];
    if (left < expiryWarningMs) return [{ check, state: 'warning', message: `expires soon, at ${until}: renew it` }];
    return [{ check, state: 'ok', message: `for ${names}, until ${until}` }];
  } catch (error) {
    if (error instanceof Problem) return [{ check, state: 'failed', message: error.message }];
    throw error;
  }
}

/** A PostgreSQL database counts as created: opening it gives the better error message. */
function isCreated({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl !== null || fileExists(join(dataDir, databaseFileName));
}

async function examineStore(config: Config, deep: boolean, trustRows: boolean): Promise<Finding[]> {
  const check = 'store';
  const place = config.databaseUrl === null ? join(config.dataDir, databaseFileName) : 'PostgreSQL';
  try {
    if (!isCreated(config)) {
      return [{ check, state: 'warning', message: `no database in ${config.dataDir} yet; 'tocsin serve' creates one` }];
    }
    const newer: Finding[] = [];
    const onNewerSchema = (message: string): void => {
      newer.push({ check, state: 'warning', message });
    };
    const store = await openStore({ ...config, onNewerSchema }, 'existing');
    try {
      await store.check();
      const trusted = trustRows ? await store.maintenance.trustRows() : null;
      const damage = deep ? await store.maintenance.verify() : await store.maintenance.findRolledBackRows();
      if (damage.length > 0) return damage.map((message) => ({ check, state: 'failed', message }));
      const { owners: readable, refused } = await listReadableOwners(store);
      if (refused.length > 0) return [{ check, state: 'failed', message: refusedOwners(refused) }];
      const owners = readable.length;
      const depth = deep ? 'every row can be decrypted' : 'readable and writable; --deep decrypts every row';
      const accepted = trusted === null ? '' : `; accepted ${trusted} current rows`;
      return [
        { check, state: 'ok', message: `${place}, ${owners} owner${owners === 1 ? '' : 's'}; ${depth}${accepted}` },
        ...newer,
        ...(await examineClock(store)),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [{ check, state: 'failed', message: (error as Error).message }];
  }
}

async function examineClock(store: Store): Promise<Finding[]> {
  const { record, databaseNow } = await store.clock.read();
  const problem = clockProblem(record, Date.now(), databaseNow);
  return problem === null ? [] : [{ check: 'clock', state: 'warning', message: problem }];
}

async function examineChannels(config: Config): Promise<Finding[]> {
  if (!isCreated(config)) return [];
  const store = await openStore(config, 'existing');
  try {
    return await withChannels(config, store, async (set) => {
      const context = await diagnosisContext(config, store);
      const ofChannels = await Promise.all(channels.map((channel) => examineChannel(channel, config, set, context)));
      return [...ofChannels.flat(), ...(await examineLegacy(config, store))];
    });
  } catch (error) {
    if (error instanceof Problem) return [{ check: 'channels', state: 'failed', message: error.message }];
    throw error;
  } finally {
    await store.close();
  }
}

async function examineChannel(
  channel: ChannelModule,
  config: Config,
  { opened }: ChannelSet,
  context: DiagnosisContext,
): Promise<Finding[]> {
  const check = channel.name;
  const open = opened.get(check);
  if (open === undefined) return [{ check, state: 'warning', message: channel.notConfigured }];
  const found = await (channel.diagnose?.(config.channels.get(check), open, context) ?? checkHealth(channel, open));
  return found.map((finding) => ({ check, ...finding }));
}

async function checkHealth({ provider }: ChannelModule, open: OpenChannel): Promise<Omit<Finding, 'check'>[]> {
  const problem = await open.check();
  return [problem === null ? { state: 'ok', message: `${provider} responds` } : { state: 'failed', message: problem }];
}

async function diagnosisContext(config: Config, store: Store): Promise<DiagnosisContext> {
  const url = listenerUrl(config.tls === null ? 'http' : 'https', config.host, config.consolePort);
  const isRunning =
    url !== null &&
    (await askOwnServer(`${url}/healthz`, config.tls, { method: 'GET', signal: AbortSignal.timeout(3000) }).then(
      (response) => response.ok,
      () => false,
    ));
  return {
    isLegacy: await store.isLegacy(),
    consoleUrl: config.publicAddresses.consoleUrl,
    server: { url, isRunning },
    listenerUrl: (scheme, port) => listenerUrl(scheme, config.host, port),
    now: Date.now,
  };
}

/** Insecure settings that are still accepted: on installations older than a stricter default, or by choice. */
async function examineLegacy(config: Config, store: Store): Promise<Finding[]> {
  const isLegacy = await store.isLegacy();
  const warnings = [{ check: 'console', message: hostWarning(config.publicAddresses, isLegacy) }];
  for (const owner of (await listReadableOwners(store)).owners.filter(({ role }) => role === 'operator')) {
    if (!needsVerifiedPasskey(owner, await store.passkeys.list(owner.id))) continue;
    const message = `the operator ${printable(owner.name)} (${owner.id}) has no passkey with user verification (PIN or biometrics): add one in Settings`;
    warnings.push({ check: 'console', message });
  }
  return warnings.flatMap(({ check, message }) => (message === null ? [] : [{ check, state: 'warning', message }]));
}
