import type { InboxEntry } from '@tocsin/contract/console';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { type DataRow, dataRows } from '../../inbox/data-rows.ts';
import { text } from '../../text/index.ts';
import { PlainText } from './plain-text.tsx';

const rowsAtOnce = 300;
/** Shown of one value; the rest follows on request. */
const firstCharacters = 1000;
/** Deeper levels are not indented further, to leave space on phones. */
const maxIndent = 6;

export function DataTable({ data }: { data: InboxEntry['data'] }) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [limit, setLimit] = useState(rowsAtOnce);
  // One row beyond the limit shows whether there are more.
  const rows = useMemo(() => dataRows(data, toggled, limit + 1), [data, toggled, limit]);
  const toggle = (path: string): void => {
    const next = new Set(toggled);
    if (!next.delete(path)) next.add(path);
    setToggled(next);
  };
  return (
    <>
      <table class="inbox-data">
        <caption class="visually-hidden">{text.inbox.data}</caption>
        <colgroup>
          <col class="key" />
          <col />
        </colgroup>
        <thead class="visually-hidden">
          <tr>
            <th scope="col">{text.inbox.key}</th>
            <th scope="col">{text.inbox.value}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, limit).map((row) => (
            <DataTableRow key={row.path} row={row} onToggle={toggle} />
          ))}
        </tbody>
      </table>
      {rows.length > limit && (
        <Button small onClick={() => setLimit(limit + rowsAtOnce)}>
          {text.inbox.moreRows(rowsAtOnce)}
        </Button>
      )}
    </>
  );
}

function DataTableRow({ row, onToggle }: { row: DataRow; onToggle: (path: string) => void }) {
  const { path, depth, key, isIndex, kind, content, isOpen } = row;
  const indent = `depth-${Math.min(depth, maxIndent)}`;
  return (
    <tr class={kind}>
      <th scope="row" class={isIndex ? `${indent} index` : indent}>
        {isOpen === null ? (
          <span dir="auto">{key}</span>
        ) : (
          <button type="button" class="inbox-data-toggle" aria-expanded={isOpen} onClick={() => onToggle(path)}>
            <Icon name="forward" />
            <span dir="auto">{key}</span>
          </button>
        )}
      </th>
      <td class={kind} dir={kind === 'text' ? 'auto' : undefined}>
        {kind === 'text' ? <PlainText content={content} first={firstCharacters} /> : content}
      </td>
    </tr>
  );
}
