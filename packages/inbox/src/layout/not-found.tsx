import { EmptyState } from '../components/empty-state.tsx';
import { Link } from '../router.tsx';
import { text } from '../text/index.ts';
import { PageFrame } from './page-frame.tsx';

export function NotFound() {
  return (
    <PageFrame>
      <EmptyState icon="search" title={text.common.notFoundTitle} level={1}>
        <p>{text.common.notFound}</p>
        <Link class="button" href="/">
          {text.common.backToInbox}
        </Link>
      </EmptyState>
    </PageFrame>
  );
}
