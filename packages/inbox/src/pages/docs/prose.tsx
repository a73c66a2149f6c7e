/** A description with paragraphs and `code` in backticks, the only Markdown that our document uses. */
export function Prose({ children }: { children: string }) {
  return (
    <>
      {children.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Inline>{paragraph}</Inline>
        </p>
      ))}
    </>
  );
}

export function Inline({ children }: { children: string }) {
  return (
    <>
      {children.split('`').map((part, index) => {
        const key = `${index} ${part}`;
        return index % 2 === 1 ? <code key={key}>{part}</code> : <span key={key}>{part}</span>;
      })}
    </>
  );
}
