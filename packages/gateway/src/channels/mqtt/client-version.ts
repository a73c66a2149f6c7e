// MQTT 5 where the broker speaks it, otherwise 3.1.1.
import type { MqttConnection, MqttVersion } from './client-connection.ts';

export const allVersions: readonly MqttVersion[] = [5, 4];

type Open = (version: MqttVersion) => Promise<MqttConnection>;

/** Tries the versions in turn, and goes on to the next only where the broker may have minded the version. */
export async function openWithVersion(versions: readonly MqttVersion[], open: Open): Promise<MqttConnection> {
  let failure: unknown;
  for (const version of versions) {
    try {
      return await open(version);
    } catch (error) {
      failure = error;
      if (!mayMindVersion(error)) break;
    }
  }
  throw failure;
}

/** 1 and 132 say so (3.1.1 and 5). Other brokers hang up on a version they do not know. */
function mayMindVersion(error: unknown): boolean {
  if (error === undefined) return true;
  const code = (error as { code?: unknown }).code;
  return code === 1 || code === 132 || code === 'ECONNRESET' || code === 'EPIPE';
}
