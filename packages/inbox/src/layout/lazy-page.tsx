// Pages that are fetched when somebody first goes there.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../components/loading.tsx';
import { BrokenPage } from './broken-page.tsx';
import { PageFrame } from './page-frame.tsx';

export function lazyPage(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined;
  return function LazyPage() {
    const [Page, setPage] = useState(() => loaded);
    const [isLost, setLost] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (page) => {
          loaded = page;
          setPage(() => page);
        },
        // The network is away, or a new version has other files.
        () => setLost(true),
      );
    }, []);
    if (isLost) return <BrokenPage />;
    if (Page === undefined) return <Loading />;
    return (
      <PageFrame>
        <Page />
      </PageFrame>
    );
  };
}
