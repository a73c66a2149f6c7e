// Connections that come while every file descriptor is in use are closed by Node without an event, so this is looked for.
import { close, open } from 'node:fs';
import { isTooManyFiles } from '../core/file-error.ts';

const everyMs = 2000;

/** Calls back once each time the process has run out of file descriptors. Returns how to stop. */
export function watchDescriptors(onExhausted: () => void): () => void {
  let isExhausted = false;
  const timer = setInterval(() => {
    open('/dev/null', 'r', (error, descriptor) => {
      if (error === null) close(descriptor);
      const wasExhausted = isExhausted;
      isExhausted = error !== null && isTooManyFiles(error);
      if (isExhausted && !wasExhausted) onExhausted();
    });
  }, everyMs).unref();
  return () => clearInterval(timer);
}
