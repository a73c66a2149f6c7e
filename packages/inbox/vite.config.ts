import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, defineConfig, type Plugin } from 'vite';

const dist = join(import.meta.dirname, 'dist');

/**
 * The service worker, built after the app, since it has to know every file of it. One file in the old form of scripts:
 * not every browser that rings takes a module there. It keeps its address, as it speaks only for what lies beside or below it.
 */
function serviceWorker(): Plugin {
  return {
    name: 'tocsin-service-worker',
    apply: 'build',
    async writeBundle() {
      const files = globSync('**/*.{html,js,css,svg,webmanifest}', { cwd: dist }).sort();
      const hash = createHash('sha256');
      for (const file of files) hash.update(file).update(readFileSync(join(dist, file)));
      const shell = { version: hash.digest('hex').slice(0, 12), files: files.map((file) => `/${file}`) };
      await build({
        configFile: false,
        root: import.meta.dirname,
        publicDir: false,
        logLevel: 'warn',
        define: { __SHELL__: JSON.stringify(shell) },
        build: {
          outDir: 'dist',
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

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from there.
export default defineConfig({
  root: import.meta.dirname,
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [serviceWorker()],
  build: {
    outDir: dist,
    emptyOutDir: true,
    target: 'es2023',
    // The browsers that run this know module preloading themselves.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
