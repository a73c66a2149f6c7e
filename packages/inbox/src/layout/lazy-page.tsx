// Pages that are loaded on the first visit.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../components/loading.tsx';
import { BrokenPage } from './broken-page.tsx';
import { PageFrame } from './page-frame.tsx';

export function lazyPage(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined;
  return function LazyPage() {
    const [Page, setPage] = useState(() => loaded);
    const [isFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (page) => {
          loaded = page;
          setPage(() => page);
        },
        // The network is down, or a new version has replaced the file.
        () => setFailed(true),
      );
    }, []);
    if (isFailed) return <BrokenPage />;
    if (Page === undefined) return <Loading />;
    return (
      <PageFrame>
        <Page />
      </PageFrame>
    );
  };
}
