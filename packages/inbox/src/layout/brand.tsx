import { Link } from '../router.tsx';
import { text } from '../text/index.ts';

export function Brand() {
  return (
    <Link class="brand" href="/">
      <img src="/icon.svg" alt="" />
      {text.common.product}
    </Link>
  );
}
