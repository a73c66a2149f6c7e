import { text } from '../../text/index.ts';
import type { FieldRow, OpenApiDocument } from './open-api.ts';
import { Inline } from './prose.tsx';
import { limitsInWords, typeInWords } from './schema-words.ts';

const words = text.docs;

/** A table where there is room, and a block for each field where there is not. */
export function FieldTable({ document, rows }: { document: OpenApiDocument; rows: FieldRow[] }) {
  return (
    <table class="docs-table">
      <thead>
        <tr>
          <th scope="col">{words.name}</th>
          <th scope="col">{words.kind}</th>
          <th scope="col">{words.description}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, schema, isRequired }) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
              {isRequired && <span class="docs-required">{words.required}</span>}
            </th>
            <td class="docs-type">{typeInWords(document, schema)}</td>
            <td>
              {schema.description !== undefined && (
                <p>
                  <Inline>{schema.description}</Inline>
                </p>
              )}
              {limitsInWords(schema).map((limit) => (
                <p key={limit} class="small soft">
                  {limit}
                </p>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
