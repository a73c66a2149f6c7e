import type { ComponentChildren } from 'preact';

/** What a page is called and what it is for; its main action stands beside it. */
export function PageHead({ title, lead, children }: { title: string; lead?: string; children?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {lead !== undefined && <p>{lead}</p>}
      </div>
      {children}
    </header>
  );
}
