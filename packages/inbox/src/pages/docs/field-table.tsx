import { text } from '../../text/index.ts';
import { describeConstraints, describeType } from './describe-schema.ts';
import type { FieldRow, OpenApiDocument } from './open-api.ts';
import { Inline } from './prose.tsx';

const words = text.docs;

/** A table on wide screens, one block per field on narrow ones. */
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
            <td class="docs-type">{describeType(document, schema)}</td>
            <td>
              {schema.description !== undefined && (
                <p>
                  <Inline>{schema.description}</Inline>
                </p>
              )}
              {describeConstraints(schema).map((constraint) => (
                <p key={constraint} class="small soft">
                  {constraint}
                </p>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
