// Shown while the session loads. It equals the splash of index.html, so that nothing moves when the app starts.
import { text } from '../text/index.ts';

export function Splash() {
  return (
    <div class="splash" role="status">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <strong>{text.common.product}</strong>
      <span class="spinner" />
      <span class="visually-hidden">{text.common.loading}</span>
    </div>
  );
}
