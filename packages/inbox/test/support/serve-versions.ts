// Serves several versions of the built app at one address, one after the other, to simulate updates.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentBuild } from '@tocsin/test-support/build.ts';
import { createConsoleApp } from '../../../gateway/src/console/app.ts';
import { addWebApp } from '../../../gateway/src/console/web-app.ts';

const built = join(currentBuild, 'web-app');

export interface VersionedSite {
  origin: string;
  /** Restarts the service with this version. */
  release(version: string): Promise<void>;
  stop(): Promise<void>;
}

export async function serveVersions(): Promise<VersionedSite> {
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-versions-'));
  let app = await serve(folder, '1', 0);
  const port = Number(new URL(app.listeningOrigin).port);
  return {
    origin: `http://localhost:${port}`,
    async release(version) {
      app.server.closeAllConnections();
      await app.close();
      app = await serve(folder, version, port);
    },
    async stop() {
      await app.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function serve(folder: string, version: string, port: number): Promise<ReturnType<typeof createConsoleApp>> {
  cpSync(built, folder, { recursive: true });
  change(join(folder, 'index.html'), '<head>', `<head><meta name="version" content="${version}" />`);
  change(join(folder, 'sw.js'), /version:(["'`])[0-9a-f]{12}\1/, `version:"${version}"`);
  const app = createConsoleApp();
  addWebApp(app, { apiUrl: () => 'http://localhost/', folder });
  await app.listen({ port, host: 'localhost' });
  return app;
}

function change(file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(file, 'utf8');
  if (text.search(from) === -1) throw new Error(`${file} does not have ${from}`);
  writeFileSync(file, text.replace(from, to));
}
