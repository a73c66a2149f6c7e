import { CodeBlock } from '../../components/code-block.tsx';
import { text } from '../../text/index.ts';
import { FieldTable } from './field-table.tsx';
import { fieldRows, type HeaderEntry, type OpenApiDocument, type ResponseEntry, resolve } from './open-api.ts';
import { Prose } from './prose.tsx';

const words = text.docs;

interface ResponsesProps {
  document: OpenApiDocument;
  responses: Record<string, ResponseEntry>;
}

export function Responses({ document, responses }: ResponsesProps) {
  return (
    <>
      {Object.entries(responses).map(([status, response]) => (
        <div key={status} class="docs-response">
          <span class={`badge ${Number(status) < 400 ? 'good' : 'error'}`}>{status}</span>
          <div class="grow stack">
            <div>
              <Prose>{response.description}</Prose>
            </div>
            <ResponseDetails document={document} response={response} />
          </div>
        </div>
      ))}
    </>
  );
}

function ResponseDetails({ document, response }: { document: OpenApiDocument; response: ResponseEntry }) {
  const [content] = Object.values(response.content ?? {});
  const examples = Object.entries(content?.examples ?? {});
  const headers = Object.entries(response.headers ?? {});
  // The examples already show the fields of errors.
  const rows = content === undefined || examples.length > 0 ? [] : fieldRows(document, content.schema);
  if (rows.length + examples.length + headers.length === 0) return null;
  return (
    <details class="docs-details">
      <summary>{words.details}</summary>
      <div class="stack">
        {rows.length > 0 && <FieldTable document={document} rows={rows} />}
        {examples.map(([name, { value }]) => (
          <CodeBlock key={name} code={JSON.stringify(value, null, 2)} what={words.exampleName(name)} />
        ))}
        {headers.length > 0 && (
          <>
            <h4>{words.responseHeaders}</h4>
            <FieldTable document={document} rows={headers.map(([name, header]) => toRow(document, name, header))} />
          </>
        )}
      </div>
    </details>
  );
}

function toRow(document: OpenApiDocument, name: string, given: HeaderEntry) {
  const { description = '', example, schema = {} } = resolve(document, given);
  return {
    name,
    isRequired: false,
    schema: { ...schema, description, ...(example !== undefined && { examples: [example] }) },
  };
}
