import type { TestResult } from '@tocsin/contract/console';
import { post } from '../../api/client.ts';
import { text } from '../../text/index.ts';

/** Resolves with what became of it, in words. */
export async function sendTestMail(): Promise<string> {
  const { isSent, error } = await post<TestResult>('/preferences/test-mail');
  return isSent
    ? text.settings.profile.testEmailSent
    : text.settings.profile.testEmailFailed(error ?? text.common.failed);
}
