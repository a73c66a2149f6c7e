// Sends a test notification to one target and keeps its result.
import type { TestResult } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api/client.ts';
import { text } from '../../text/index.ts';

export interface TestOutcome {
  isGood: boolean;
  message: string;
}

/** The text for a sent test, by delivery state. */
export type TestTexts = Record<NonNullable<TestResult['state']>, string>;

/** `show` displays another message in the same place. */
export function useTest(path: string, texts: TestTexts) {
  const [outcome, setOutcome] = useState<TestOutcome | null>(null);
  const send = async (): Promise<boolean> => {
    setOutcome(null);
    const next = await outcomeOf(path, texts);
    setOutcome(next);
    return next.isGood;
  };
  return { outcome, send, show: setOutcome };
}

async function outcomeOf(path: string, texts: TestTexts): Promise<TestOutcome> {
  try {
    const { state, error } = await post<TestResult>(path);
    return state !== null
      ? { isGood: true, message: texts[state] }
      : { isGood: false, message: text.devices.testFailed(error ?? text.common.failed) };
  } catch (error) {
    return { isGood: false, message: error instanceof ApiError ? error.message : text.common.failed };
  }
}
