import { CodeBlock } from '../../components/code-block.tsx';
import { text } from '../../text/index.ts';
import { FieldTable } from './field-table.tsx';
import {
  type Content,
  type FieldRow,
  fieldRows,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolve,
} from './open-api.ts';
import { Prose } from './prose.tsx';
import { Responses } from './responses.tsx';

const words = text.docs;

interface OperationSectionProps {
  document: OpenApiDocument;
  method: string;
  path: string;
  operation: Operation;
}

export function OperationSection({ document, method, path, operation }: OperationSectionProps) {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  return (
    <section id={method} class="docs-section">
      <h2>
        <span class={`docs-method ${method}`}>{method.toUpperCase()}</span> <code>{path}</code>
        <span class="docs-summary">{summary}</span>
      </h2>
      {description !== undefined && <Prose>{description}</Prose>}
      {operation.security?.length === 0 && <p class="soft">{words.noKeyNeeded}</p>}
      {parameters.length > 0 && (
        <>
          <h3>{words.parameters}</h3>
          <FieldTable document={document} rows={parameters.map(toRow)} />
        </>
      )}
      {requestBody !== undefined && <RequestBody document={document} content={requestBody.content} />}
      <h3>{words.responses}</h3>
      <Responses document={document} responses={responses} />
    </section>
  );
}

function toRow({ name, description, required = false, schema, example }: Parameter): FieldRow {
  return {
    name,
    isRequired: required,
    schema: {
      ...schema,
      ...(description !== undefined && { description }),
      ...(example !== undefined && { examples: [example] }),
    },
  };
}

function RequestBody({ document, content }: { document: OpenApiDocument; content: Record<string, Content> }) {
  const entries = Object.entries(content);
  const [first] = entries;
  if (first === undefined) return null;
  const [, { schema }] = first;
  return (
    <>
      <h3>{words.requestBody}</h3>
      <p class="row">
        {words.requestTypes}
        {entries.map(([type]) => (
          <code key={type} class="badge">
            {type}
          </code>
        ))}
      </p>
      <ObjectDescription document={document} schema={schema} />
      <FieldTable document={document} rows={fieldRows(document, schema)} />
      <h3>{words.examples}</h3>
      {entries.flatMap(([type, { examples = {} }]) =>
        Object.entries(examples).map(([name, { summary = name, value }]) => (
          <details key={`${type} ${name}`} class="docs-details">
            <summary>
              <span class="grow">{summary}</span>
              <code class="small soft">{type}</code>
            </summary>
            <CodeBlock code={exampleText(type, value)} what={words.exampleName(name)} />
          </details>
        )),
      )}
    </>
  );
}

function ObjectDescription({ document, schema }: { document: OpenApiDocument; schema: Content['schema'] }) {
  const { description } = resolve(document, schema);
  return description === undefined ? null : <Prose>{description}</Prose>;
}

/** The example as it is sent over the wire. */
function exampleText(type: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (type === 'application/x-www-form-urlencoded') return String(new URLSearchParams(value as Record<string, string>));
  return JSON.stringify(value, null, 2);
}
