import { text } from '../text/index.ts';

/** Appears only after a moment, so that what comes at once does not flicker. */
export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="spinner" />
      <span class="visually-hidden">{text.common.loading}</span>
    </div>
  );
}
