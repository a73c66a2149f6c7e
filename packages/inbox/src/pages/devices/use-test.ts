// "Send a test": one at a time, and what really became of it.
import type { TestResult } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api/client.ts';
import { text } from '../../text/index.ts';

export interface TestOutcome {
  isGood: boolean;
  message: string;
}

/** What to say of a test that was sent, by how far it got. */
export type TestWords = Record<NonNullable<TestResult['state']>, string>;

/** With `show` the same line tells of something else. */
export function useTest(path: string, taken: TestWords) {
  const [outcome, setOutcome] = useState<TestOutcome | null>(null);
  const send = async (): Promise<boolean> => {
    setOutcome(null);
    const next = await outcomeOf(path, taken);
    setOutcome(next);
    return next.isGood;
  };
  return { outcome, send, show: setOutcome };
}

async function outcomeOf(path: string, taken: TestWords): Promise<TestOutcome> {
  try {
    const { state, error } = await post<TestResult>(path);
    return state !== null
      ? { isGood: true, message: taken[state] }
      : { isGood: false, message: text.devices.testFailed(error ?? text.common.failed) };
  } catch (error) {
    return { isGood: false, message: error instanceof ApiError ? error.message : text.common.failed };
  }
}
