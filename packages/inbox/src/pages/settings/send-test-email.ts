import { settingsRoutes } from '@tocsin/contract/console/routes';
import { call } from '../../api/client.ts';
import { text } from '../../text/index.ts';

/** Resolves with the text to show. */
export async function sendTestEmail(): Promise<string> {
  const { isSent, error } = await call(settingsRoutes.sendTestEmail);
  return isSent
    ? text.settings.profile.testEmailSent
    : text.settings.profile.testEmailFailed(error ?? text.common.failed);
}
