import { urlOf } from '@tocsin/contract/console/route';
import { apiDescriptionRoutes } from '@tocsin/contract/console/routes';
import './docs.css';
import '../keys/keys.css';
import { useLoaded } from '../../api/use-loaded.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { text } from '../../text/index.ts';
import { Authentication } from './authentication.tsx';
import type { OpenApiDocument } from './open-api.ts';
import { OperationSection } from './operation-section.tsx';
import { Prose } from './prose.tsx';
import { TryIt } from './try-it.tsx';

const words = text.docs;
/** The order of the operations. */
const order = ['post', 'get', 'head', 'options'];

export function DocsPage() {
  const { value, error, reload } = useLoaded(apiDescriptionRoutes.getOpenApi);
  const document = value as OpenApiDocument | undefined;
  return (
    <div class="page docs">
      <PageHead title={words.title} lead={words.lead} />
      {error !== null && <LoadProblem error={error} onRetry={reload} />}
      {document === undefined && error === null && <Loading />}
      {document !== undefined && <Documentation document={document} />}
    </div>
  );
}

function Documentation({ document }: { document: OpenApiDocument }) {
  const apiUrl = document.servers[0]?.url ?? '/';
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    order.flatMap((method) => {
      const operation = methods[method];
      return operation === undefined ? [] : [{ method, path, operation }];
    }),
  );
  return (
    <>
      <div class="docs-address">
        <span class="soft">{words.address}</span>
        <code class="grow">{apiUrl}</code>
        <CopyButton value={apiUrl} what={words.addressName} />
      </div>
      <nav class="docs-contents" aria-label={words.contents}>
        <a href="#authentication">{words.authentication}</a>
        <a href="#try">{words.tryIt}</a>
        {operations.map(({ method, operation }) => (
          <a key={method} href={`#${method}`}>
            {operation.summary}
          </a>
        ))}
        <a href={urlOf(apiDescriptionRoutes.getOpenApi)} target="_blank" rel="noopener noreferrer">
          {words.rawDocument}
        </a>
      </nav>
      <Prose>{document.info.description}</Prose>
      <Authentication document={document} />
      <TryIt apiUrl={apiUrl} />
      {operations.map((each) => (
        <OperationSection key={each.method} document={document} {...each} />
      ))}
    </>
  );
}
