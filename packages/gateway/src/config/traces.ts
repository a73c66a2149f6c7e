// Settings for traces: the standard environment variables of OpenTelemetry.
import type { SettingsReader } from '../core/settings-reader.ts';

export interface TraceConfig {
  url: URL;
  headers: Record<string, string>;
  serviceName: string;
  sampleRatio: number;
}

/** null: no collector is configured, and tracing is off. */
export function readTraceConfig(reader: SettingsReader): TraceConfig | null {
  const wanted = 'an http: or https: address without credentials, which belong in OTEL_EXPORTER_OTLP_HEADERS';
  const base = reader.value<URL | null>('OTEL_EXPORTER_OTLP_ENDPOINT', null, wanted, parseUrl);
  const whole = reader.value<URL | null>('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', null, wanted, parseUrl);
  const headers = reader.value(
    'OTEL_EXPORTER_OTLP_HEADERS',
    {},
    'headers such as name=value,other=value, percent-encoded where needed',
    parseHeaders,
  );
  const serviceName = reader.value('OTEL_SERVICE_NAME', 'tocsin', 'a name', (text) => text);
  const sampleRatio = reader.value('OTEL_TRACES_SAMPLER_ARG', 1, 'a ratio from 0 to 1', parseRatio);
  const url = whole ?? (base && below(base, 'v1/traces'));
  return url && { url, headers, serviceName, sampleRatio };
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

function below(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${path}`;
  return url;
}

function parseHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  try {
    for (const part of text.split(',')) {
      const [, name = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
      const decoded = decodeURIComponent(value);
      // The Headers class checks names and values.
      new Headers().set(name, decoded);
      headers[name] = decoded;
    }
    return headers;
  } catch {
    return undefined;
  }
}

function parseRatio(text: string): number | undefined {
  const ratio = Number(text);
  return ratio >= 0 && ratio <= 1 ? ratio : undefined;
}
