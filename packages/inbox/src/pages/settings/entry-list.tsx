import type { ComponentChildren } from 'preact';
import type { Loaded } from '../../api/use-loaded.ts';
import { Icon, type IconName } from '../../components/icon.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { Loading } from '../../components/loading.tsx';

interface EntryListProps<Entry extends { id: string }> {
  loaded: Loaded<unknown>;
  /** undefined until they are loaded. */
  entries: Entry[] | undefined;
  icon: IconName;
  nameOf: (entry: Entry) => ComponentChildren;
  detailOf: (entry: Entry) => ComponentChildren;
  actionOf: (entry: Entry) => ComponentChildren;
}

export function EntryList<Entry extends { id: string }>(props: EntryListProps<Entry>) {
  const { loaded, entries, icon, nameOf, detailOf, actionOf } = props;
  if (loaded.error !== null) return <LoadProblem error={loaded.error} onRetry={loaded.reload} />;
  if (entries === undefined) return <Loading />;
  if (entries.length === 0) return null;
  return (
    <ul class="settings-list">
      {entries.map((entry) => (
        <li key={entry.id}>
          <Icon name={icon} />
          <div class="grow">
            <div class="settings-entry-name">{nameOf(entry)}</div>
            <div class="soft small">{detailOf(entry)}</div>
          </div>
          {actionOf(entry)}
        </li>
      ))}
    </ul>
  );
}
