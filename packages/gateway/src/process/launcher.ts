import { fileURLToPath } from 'node:url';

/** The `tocsin` command. Source and bundle lie equally deep below the package, so this path holds in both. */
export const launcher = fileURLToPath(new URL('../../bin/tocsin.js', import.meta.url));
