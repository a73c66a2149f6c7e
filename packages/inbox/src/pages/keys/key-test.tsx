import type { CreatedKeyEntry } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { NotSent, notify } from '../../api/public-api.ts';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/index.ts';
import { describeResponse, type ResponseDescription } from './describe-response.ts';
import { ResponseSummary } from './response-summary.tsx';

const words = text.keys;

/** Sends a notification with the new key from this page, as any caller would. */
export function KeyTest({ apiUrl, created }: { apiUrl: string; created: CreatedKeyEntry }) {
  const [outcome, setOutcome] = useState<ResponseDescription | null>(null);
  const send = async (): Promise<void> => {
    setOutcome(null);
    setOutcome(await sendTest(apiUrl, created));
  };
  return (
    <section class="stack">
      <h3>{words.testHeading}</h3>
      <div class="row keys-test">
        <p class="grow soft">{words.testHint}</p>
        <Button icon="send" onClick={send}>
          {words.sendTest}
        </Button>
      </div>
      <ResponseSummary outcome={outcome} />
    </section>
  );
}

async function sendTest(apiUrl: string, { key, value }: CreatedKeyEntry): Promise<ResponseDescription> {
  const notification = {
    title: words.testTitle,
    body: words.testBody,
    severity: 'info',
    ...(key.label !== null && { source: key.label }),
  };
  try {
    return describeResponse(await notify({ apiUrl, key: value, isSigned: key.requireSignature }, notification));
  } catch (error) {
    return { isGood: false, headline: describeNotSent(error, apiUrl), lines: [] };
  }
}

export function describeNotSent(error: unknown, apiUrl: string): string {
  if (!(error instanceof NotSent)) return text.common.failed;
  return error.reason === 'cannot_sign' ? words.cannotSign : words.unreachable(apiUrl);
}
