import type { TestResult } from '@tocsin/contract/console';
import { post } from '../../api/client.ts';
import { text } from '../../text/index.ts';

/** Resolves with the text to show. */
export async function sendTestEmail(): Promise<string> {
  const { isSent, error } = await post<TestResult>('/preferences/test-mail');
  return isSent
    ? text.settings.profile.testEmailSent
    : text.settings.profile.testEmailFailed(error ?? text.common.failed);
}
