import { categories, severities } from '@tocsin/contract/fields';
import { useState } from 'preact/hooks';
import { notify, type PublicResponse } from '../../api/public-api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { SelectField, Switch, TextArea, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { text } from '../../text/index.ts';
import { describeResponse, type ResponseDescription } from '../keys/describe-response.ts';
import { describeNotSent } from '../keys/key-test.tsx';
import { ResponseSummary } from '../keys/response-summary.tsx';
import { curlCommand } from '../keys/snippets.ts';
import { emptyTryForm, readTryForm, type TryForm } from './try-form.ts';

const words = text.docs;

interface Outcome {
  description: ResponseDescription;
  response: PublicResponse | null;
}

/** Sends a real request with a key that the user pastes. The key exists in this component only. */
export function TryIt({ apiUrl }: { apiUrl: string }) {
  const [form, setForm] = useState<TryForm>(emptyTryForm);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const set = (change: Partial<TryForm>): void => setForm((present) => ({ ...present, ...change }));
  const notification = readTryForm(form);
  const key = form.key.trim();

  const send = async (): Promise<void> => {
    if (notification === null) return;
    setOutcome(null);
    try {
      const response = await notify({ apiUrl, key, isSigned: form.isSigned }, notification);
      setOutcome({ description: describeResponse(response), response });
    } catch (error) {
      const headline = describeNotSent(error, apiUrl);
      setOutcome({ description: { isGood: false, headline, lines: [] }, response: null });
    }
  };
  return (
    <section id="try" class="docs-section">
      <h2>{words.tryIt}</h2>
      <p>{words.tryItLead}</p>
      <div class="card">
        <Form submit={words.send} disabled={notification === null} onSubmit={send}>
          <TextField
            label={words.key}
            hint={words.keyHint}
            value={form.key}
            required
            autoComplete="off"
            placeholder="svc_…"
            onInput={(value) => set({ key: value })}
          />
          <TextField label={words.notificationTitle} value={form.title} onInput={(title) => set({ title })} />
          <TextArea label={words.notificationBody} rows={2} value={form.body} onInput={(body) => set({ body })} />
          <div class="docs-columns">
            <SelectField
              label={words.severity}
              value={form.severity}
              options={[
                { value: 'none', label: words.noSeverity },
                ...severities.map((value) => ({ value, label: value })),
              ]}
              onChange={(severity) => set({ severity })}
            />
            <SelectField
              label={words.category}
              value={form.category}
              options={categories.map((value) => ({ value, label: value }))}
              onChange={(category) => set({ category })}
            />
            <SelectField
              label={words.sendEmail}
              value={form.sendEmail}
              options={(['account', 'yes', 'no'] as const).map((value) => ({
                value,
                label: words.sendEmailChoices[value],
              }))}
              onChange={(sendEmail) => set({ sendEmail })}
            />
          </div>
          <TextArea
            label={words.data}
            hint={words.dataHint}
            problem={notification === null ? words.dataWrong : null}
            class="input docs-json"
            rows={3}
            spellcheck={false}
            value={form.data}
            onInput={(data) => set({ data })}
          />
          <div class="docs-columns">
            <Switch label={words.sendPush} checked={form.sendPush} onChange={(sendPush) => set({ sendPush })} />
            <Switch label={words.sendMqtt} checked={form.sendMqtt} onChange={(sendMqtt) => set({ sendMqtt })} />
            <Switch
              label={words.strictDelivery}
              hint={words.strictDeliveryHint}
              checked={form.strictDelivery}
              onChange={(strictDelivery) => set({ strictDelivery })}
            />
            <Switch
              label={words.signIt}
              hint={words.signItHint}
              checked={form.isSigned}
              onChange={(isSigned) => set({ isSigned })}
            />
          </div>
        </Form>
      </div>
      <ResponseSummary outcome={outcome?.description ?? null} />
      {outcome?.response != null && (
        <>
          <h3>
            {words.response} <span class="soft small">{words.status(outcome.response.status)}</span>
          </h3>
          <CodeBlock code={JSON.stringify(outcome.response.body, null, 2)} what={words.responseName} />
        </>
      )}
      <h3>{words.curl}</h3>
      <CodeBlock
        code={curlCommand({
          apiUrl,
          value: key || words.keyPlaceholder,
          requireSignature: form.isSigned,
          body: JSON.stringify(notification ?? {}),
        })}
        what={words.curlName}
      />
    </section>
  );
}
