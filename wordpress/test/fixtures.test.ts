// Replays the request fixtures of the contract through the companion, against a gateway that requires signatures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import fixtures from '../../packages/contract/fixtures/requests.json' with { type: 'json' };
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

interface Case {
  name: string;
  contentType: string | null;
  body: string;
  normalized?: Record<string, unknown>;
  error?: { status: number; code: string };
}

interface Sent {
  status: number;
  body: { id?: string; code?: string };
}

/** Sends the fixtures that PHP can encode without loss: it does not distinguish an empty object from an empty array. */
const send = `$client = Tocsin_Companion::get_instance()->client();
$sent = array();
foreach ( $input as $name => $body ) {
  $fields = json_decode( $body, true );
  if ( is_array( $fields ) && json_decode( $body ) == json_decode( wp_json_encode( $fields ) ) ) {
    $result = $client->send( $fields, wp_generate_uuid4() );
    $sent[ $name ] = array( 'status' => $result->status(), 'body' => $result->body() );
  }
}
return $sent;`;

test('the gateway normalizes or rejects every fixture sent by the companion as the contract specifies', async (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const connected = await ConnectedSite.create();
  t.after(() => connected.remove());
  const cases = (fixtures.cases as Case[]).filter(
    ({ contentType, normalized }) => contentType === 'application/json' && !normalized?.customBroker,
  );
  const sent = await connected.site.php<Record<string, Sent>>(
    send,
    Object.fromEntries(cases.map(({ name, body }) => [name, body])),
  );
  assert.ok(Object.keys(sent).length > 200, `only ${Object.keys(sent).length} were sent`);
  const stored = new Map((await connected.received()).map(({ id, content }) => [id, content]));
  for (const { name, normalized, error } of cases) {
    const outcome = sent[name];
    if (outcome === undefined) continue;
    if (error !== undefined) {
      assert.deepEqual([outcome.status, outcome.body.code], [error.status, error.code], name);
      continue;
    }
    assert.equal(outcome.status, 200, name);
    const { title, body, source, category, severity, data } = stored.get(outcome.body.id ?? '') ?? {};
    const expected: Record<string, unknown> = { ...fixtures.defaults, ...normalized };
    for (const [field, value] of Object.entries({ title, body, source, category, severity, data })) {
      assert.deepEqual(value, expected[field], `${name}: ${field}`);
    }
  }
});
