// Sends a test notification to one target and keeps its result.

import type { TestResult } from '@tocsin/contract/console';
import type { deviceRoutes, pushTargetRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { text } from '../../text/index.ts';

export interface TestOutcome {
  isGood: boolean;
  message: string;
}

/** The text for a sent test, by delivery state. */
export type TestTexts = Record<NonNullable<TestResult['state']>, string>;

type TestRoute = typeof deviceRoutes.testDevice | typeof pushTargetRoutes.testPushTarget;

/** `show` displays another message in the same place. */
export function useTest(route: TestRoute, id: string, texts: TestTexts) {
  const [outcome, setOutcome] = useState<TestOutcome | null>(null);
  const send = async (): Promise<boolean> => {
    setOutcome(null);
    const next = await outcomeOf(route, id, texts);
    setOutcome(next);
    return next.isGood;
  };
  return { outcome, send, show: setOutcome };
}

async function outcomeOf(route: TestRoute, id: string, texts: TestTexts): Promise<TestOutcome> {
  try {
    const { state, error } = await call(route, { params: { id } });
    return state !== null
      ? { isGood: true, message: texts[state] }
      : { isGood: false, message: text.devices.testFailed(error ?? text.common.failed) };
  } catch (error) {
    return { isGood: false, message: error instanceof ApiError ? error.message : text.common.failed };
  }
}
