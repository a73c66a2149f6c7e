import { text } from '../../text/index.ts';
import type { OpenApiDocument, SecurityScheme } from './open-api.ts';

const words = text.docs;

export function Authentication({ document }: { document: OpenApiDocument }) {
  const schemes = Object.entries(document.components.securitySchemes);
  return (
    <section id="authentication" class="docs-section">
      <h2>{words.authentication}</h2>
      <p>{words.authenticationLead}</p>
      <ul class="docs-schemes">
        {schemes.map(([name, scheme]) => (
          <li key={name}>
            <code>{headerOf(scheme)}</code>
            {scheme.description !== undefined && <p class="small soft">{scheme.description}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function headerOf({ type, name }: SecurityScheme): string {
  return type === 'http' ? `Authorization: Bearer ${words.keyPlaceholder}` : `${name}: ${words.keyPlaceholder}`;
}
