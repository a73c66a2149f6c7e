import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, defineConfig, type Plugin } from 'vite';

/**
 * Builds the service worker after the app, because it lists the files of the app. It is a classic script, because not all
 * browsers with push support module workers, and its name has no hash, because its URL determines its scope.
 */
function serviceWorker(): Plugin {
  let outDir = '';
  return {
    name: 'tocsin-service-worker',
    apply: 'build',
    configResolved(config) {
      outDir = config.build.outDir;
    },
    async writeBundle() {
      const files = globSync('**/*.{html,js,css,svg,webmanifest}', { cwd: outDir }).sort();
      const hash = createHash('sha256');
      for (const file of files) hash.update(file).update(readFileSync(join(outDir, file)));
      const shell = { version: hash.digest('hex').slice(0, 12), files: files.map((file) => `/${file}`) };
      await build({
        configFile: false,
        root: import.meta.dirname,
        publicDir: false,
        envDir: false,
        logLevel: 'warn',
        define: { __SHELL__: JSON.stringify(shell) },
        build: {
          outDir,
          emptyOutDir: false,
          target: 'es2023',
          rolldownOptions: {
            input: 'src/service-worker/index.ts',
            output: { format: 'iife', entryFileNames: 'sw.js' },
          },
        },
      });
    },
  };
}

// biome-ignore lint/style/noDefaultExport: Vite requires it.
export default defineConfig({
  root: import.meta.dirname,
  publicDir: 'public',
  // Nothing beside the sources changes the build.
  envDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [serviceWorker()],
  build: {
    target: 'es2023',
    // All supported browsers preload modules natively.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
