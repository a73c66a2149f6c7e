import type { CreatedKeyEntry } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { NotSent, notify } from '../../api/public-api.ts';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/index.ts';
import { AnswerLines } from './answer-lines.tsx';
import { type AnswerWords, answerInWords } from './answer-words.ts';

const words = text.keys;

/** Sends with the key as any caller would, from this page. */
export function KeyTest({ apiUrl, created }: { apiUrl: string; created: CreatedKeyEntry }) {
  const [outcome, setOutcome] = useState<AnswerWords | null>(null);
  const send = async (): Promise<void> => {
    setOutcome(null);
    setOutcome(await sendTest(apiUrl, created));
  };
  return (
    <section class="stack">
      <h3>{words.testHeading}</h3>
      <div class="row">
        <p class="grow soft">{words.testHint}</p>
        <Button icon="send" onClick={send}>
          {words.sendTest}
        </Button>
      </div>
      <AnswerLines outcome={outcome} />
    </section>
  );
}

async function sendTest(apiUrl: string, { key, value }: CreatedKeyEntry): Promise<AnswerWords> {
  const notification = {
    title: words.testTitle,
    body: words.testBody,
    severity: 'info',
    ...(key.label !== null && { source: key.label }),
  };
  try {
    return answerInWords(await notify({ apiUrl, key: value, isSigned: key.requireSignature }, notification));
  } catch (error) {
    return { isGood: false, headline: notSentInWords(error, apiUrl), lines: [] };
  }
}

export function notSentInWords(error: unknown, apiUrl: string): string {
  if (!(error instanceof NotSent)) return text.common.failed;
  return error.reason === 'cannot_sign' ? words.cannotSign : words.unreachable(apiUrl);
}
