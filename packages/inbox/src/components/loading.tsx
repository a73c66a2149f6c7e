import { text } from '../text/index.ts';

/** Appears after a short delay, so that fast responses do not flicker. */
export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="spinner" />
      <span class="visually-hidden">{text.common.loading}</span>
    </div>
  );
}
