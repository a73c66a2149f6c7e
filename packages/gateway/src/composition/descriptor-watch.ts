// Node closes connections without an event while every file descriptor is in use, so this state has to be polled for.
import { close, open } from 'node:fs';
import { isTooManyFiles } from '../core/file-error.ts';

const pollMs = 2000;

/** Calls back once each time the process has run out of file descriptors. Returns the function that stops watching. */
export function watchDescriptors(onExhausted: () => void): () => void {
  let isExhausted = false;
  const timer = setInterval(() => {
    open('/dev/null', 'r', (error, descriptor) => {
      if (error === null) close(descriptor);
      const wasExhausted = isExhausted;
      isExhausted = error !== null && isTooManyFiles(error);
      if (isExhausted && !wasExhausted) onExhausted();
    });
  }, pollMs).unref();
  return () => clearInterval(timer);
}
