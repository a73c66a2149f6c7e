import { CopyButton } from './copy-button.tsx';

export function CodeBlock({ code, what }: { code: string; what: string }) {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard */}
      <section tabIndex={0} aria-label={what}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton value={code} what={what} />
    </div>
  );
}
