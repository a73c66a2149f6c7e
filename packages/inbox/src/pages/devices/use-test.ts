// "Send a test": one at a time, and what really became of it.
import type { TestResult } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api/client.ts';
import { text } from '../../text/index.ts';

export interface TestOutcome {
  isGood: boolean;
  message: string;
}

/** `taken` says whose word it is that it was sent. With `show` the same line tells of something else. */
export function useTest(path: string, taken: string) {
  const [outcome, setOutcome] = useState<TestOutcome | null>(null);
  const send = async (): Promise<boolean> => {
    setOutcome(null);
    const next = await outcomeOf(path, taken);
    setOutcome(next);
    return next.isGood;
  };
  return { outcome, send, show: setOutcome };
}

async function outcomeOf(path: string, taken: string): Promise<TestOutcome> {
  try {
    const { isSent, error } = await post<TestResult>(path);
    return isSent
      ? { isGood: true, message: taken }
      : { isGood: false, message: text.devices.testFailed(error ?? text.common.failed) };
  } catch (error) {
    return { isGood: false, message: error instanceof ApiError ? error.message : text.common.failed };
  }
}
