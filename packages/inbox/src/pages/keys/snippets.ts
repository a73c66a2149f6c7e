// Code snippets that send a notification. Signed requests follow docs/callers.md#signed-requests:
// X-Signature is the hex HMAC-SHA256 of X-Timestamp and the raw body, keyed with the API key.
import { shellString } from '@tocsin/contract/shell-string';
import { phpString } from './quote.ts';

export interface SnippetKey {
  /** The URL of the public API. */
  apiUrl: string;
  value: string;
  requireSignature: boolean;
  /** Becomes the source of the notification; null uses the default source of the service. */
  label: string | null;
}

export const snippetLanguages = ['curl', 'javascript', 'python', 'php', 'github'] as const;
export type SnippetLanguage = (typeof snippetLanguages)[number];

export const snippetGenerators: Record<SnippetLanguage, (key: SnippetKey) => string> = {
  curl: curlSnippet,
  javascript: javaScriptSnippet,
  python: pythonSnippet,
  php: phpSnippet,
  github: gitHubSnippet,
};

export interface CurlRequest extends Pick<SnippetKey, 'apiUrl' | 'value' | 'requireSignature'> {
  /** JSON. */
  body: string;
}

export function curlCommand({ apiUrl, value, requireSignature, body }: CurlRequest): string {
  if (!requireSignature) {
    return [
      `curl ${shellString(apiUrl)} \\`,
      `  -H ${shellString(`Authorization: Bearer ${value}`)} \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d ${shellString(body)}`,
    ].join('\n');
  }
  return [
    `key=${shellString(value)}`,
    `body=${shellString(body)}`,
    ...shellSignature('"$key"'),
    `curl ${shellString(apiUrl)} \\`,
    '  -H "Authorization: Bearer $key" \\',
    '  -H "X-Timestamp: $timestamp" -H "X-Signature: $signature" \\',
    `  -H 'Content-Type: application/json' \\`,
    '  -d "$body"',
  ].join('\n');
}

/** Each signature is accepted once. `date` has no milliseconds on some systems, so the last three digits are random. */
function shellSignature(key: string): string[] {
  return [
    `timestamp="$(date +%s)$(printf '%03d' $((RANDOM % 1000)))"`,
    `signature=$(printf '%s' "$timestamp$body" | openssl dgst -sha256 -hmac ${key} | sed 's/^.*= *//')`,
  ];
}

function notification({ label }: SnippetKey, language: string): Record<string, string> {
  return {
    title: `Hello from ${language}`,
    body: 'It works.',
    severity: 'info',
    ...(label !== null && { source: label }),
  };
}

function curlSnippet(key: SnippetKey): string {
  return curlCommand({ ...key, body: JSON.stringify(notification(key, 'curl')) });
}

/** A JSON string is a valid literal in both JavaScript and Python. */
const quoted = JSON.stringify;

function members(key: SnippetKey, language: string): [string, string][] {
  return Object.entries(notification(key, language));
}

function javaScriptSnippet(key: SnippetKey): string {
  const { apiUrl, value, requireSignature } = key;
  return [
    ...(requireSignature
      ? [
          'async function sign(key, text) {',
          '  const encoder = new TextEncoder();',
          "  const algorithm = { name: 'HMAC', hash: 'SHA-256' };",
          "  const secret = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);",
          "  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', secret, encoder.encode(text)));",
          "  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');",
          '}',
          '',
        ]
      : []),
    'async function notify(notification) {',
    `  const key = ${quoted(value)};`,
    '  const body = JSON.stringify(notification);',
    ...(requireSignature ? ['  const timestamp = String(Date.now());'] : []),
    `  const response = await fetch(${quoted(apiUrl)}, {`,
    "    method: 'POST',",
    '    headers: {',
    "      Authorization: 'Bearer ' + key,",
    "      'Content-Type': 'application/json',",
    ...(requireSignature
      ? ["      'X-Timestamp': timestamp,", "      'X-Signature': await sign(key, timestamp + body),"]
      : []),
    '    },',
    '    body,',
    '  });',
    '  return { status: response.status, body: await response.json() };',
    '}',
    '',
    'notify({',
    ...members(key, 'JavaScript').map(([name, text]) => `  ${name}: ${quoted(text)},`),
    '}).then(console.log);',
  ].join('\n');
}

function pythonSnippet(key: SnippetKey): string {
  const { apiUrl, value, requireSignature } = key;
  return [
    ...(requireSignature ? ['import hashlib', 'import hmac'] : []),
    'import json',
    ...(requireSignature ? ['import time'] : []),
    'import urllib.request',
    '',
    `key = ${quoted(value)}`,
    'body = json.dumps({',
    ...members(key, 'Python').map(([name, text]) => `    ${quoted(name)}: ${quoted(text)},`),
    '}).encode()',
    'headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}',
    ...(requireSignature
      ? [
          'timestamp = str(int(time.time() * 1000))',
          'headers["X-Timestamp"] = timestamp',
          'headers["X-Signature"] = hmac.new(key.encode(), timestamp.encode() + body, hashlib.sha256).hexdigest()',
        ]
      : []),
    `request = urllib.request.Request(${quoted(apiUrl)}, data=body, headers=headers)`,
    'with urllib.request.urlopen(request, timeout=30) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n');
}

function phpSnippet(key: SnippetKey): string {
  const { apiUrl, value, requireSignature } = key;
  return [
    '<?php',
    `$key = ${phpString(value)};`,
    '$body = json_encode([',
    ...members(key, 'PHP').map(([name, text]) => `    ${phpString(name)} => ${phpString(text)},`),
    ']);',
    "$headers = ['Authorization: Bearer ' . $key, 'Content-Type: application/json'];",
    ...(requireSignature
      ? [
          "$timestamp = sprintf('%.0f', floor(microtime(true) * 1000));",
          "$headers[] = 'X-Timestamp: ' . $timestamp;",
          "$headers[] = 'X-Signature: ' . hash_hmac('sha256', $timestamp . $body, $key);",
        ]
      : []),
    '$context = stream_context_create([',
    "    'http' => [",
    "        'method' => 'POST',",
    "        'header' => $headers,",
    "        'content' => $body,",
    "        'ignore_errors' => true,",
    '    ],',
    ']);',
    `echo file_get_contents(${phpString(apiUrl)}, false, $context), PHP_EOL;`,
  ].join('\n');
}

/** A workflow step. The key is a repository secret; the script reads values of the run from environment variables. */
function gitHubSnippet({ apiUrl, requireSignature }: SnippetKey): string {
  return [
    '- name: Notify Tocsin of the failure',
    '  if: failure()',
    '  shell: bash',
    '  env:',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: expression syntax of GitHub Actions
    '    TOCSIN_KEY: ${{ secrets.TOCSIN_KEY }}',
    '  run: |',
    '    body=$(jq -nc \\',
    '      --arg title "$GITHUB_WORKFLOW failed" \\',
    '      --arg body "$GITHUB_REPOSITORY, $GITHUB_REF_NAME" \\',
    '      --arg url "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID" \\',
    `      '{title: $title, body: $body, source: "github", severity: "error", data: {url: $url}}')`,
    ...(requireSignature ? shellSignature('"$TOCSIN_KEY"').map((line) => `    ${line}`) : []),
    `    curl --fail-with-body --silent --show-error ${shellString(apiUrl)} \\`,
    '      -H "Authorization: Bearer $TOCSIN_KEY" \\',
    ...(requireSignature ? ['      -H "X-Timestamp: $timestamp" -H "X-Signature: $signature" \\'] : []),
    `      -H 'Content-Type: application/json' \\`,
    '      -d "$body"',
  ].join('\n');
}
