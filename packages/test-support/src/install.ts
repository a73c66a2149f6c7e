// Installations that are removed when the test ends.
import type { TestContext } from 'node:test';
import { type GatewayProcess, Installation } from './gateway-process.ts';
import { startSmtpServer, type TestSmtpServer } from './smtp-server.ts';

export async function install(
  t: TestContext,
  ...options: Parameters<typeof Installation.create>
): Promise<Installation> {
  const installation = await Installation.create(...options);
  t.after(() => installation.remove());
  return installation;
}

/** An installation that sends email over an SMTP server in this process. */
export async function installWithSmtp(
  t: TestContext,
  environment: Record<string, string> = {},
): Promise<{ installation: Installation; smtp: TestSmtpServer }> {
  const smtp = await startSmtpServer();
  t.after(() => smtp.kill());
  const installation = await install(t, {
    TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    TOCSIN_EMAIL_FROM: 'tocsin@example.com',
    ...environment,
  });
  return { installation, smtp };
}

/** Starts an installation for the first time, and enables email to ann@example.com for its first owner. */
export async function serveWithEmail(
  installation: Installation,
  environment: Record<string, string> = {},
): Promise<GatewayProcess> {
  const gateway = await installation.serve(environment);
  const { firstRun } = gateway.line;
  if (firstRun === undefined) throw new Error('The installation has been started before.');
  await installation.json('owner', 'set', firstRun.owner, '--email', 'ann@example.com', '--email-alerts', 'on');
  return gateway;
}
