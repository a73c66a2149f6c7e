// What index.html shows while the app is loaded, and the app while it finds out who is signed in: nothing moves between.
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
