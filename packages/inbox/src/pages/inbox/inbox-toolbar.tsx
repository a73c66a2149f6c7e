import './inbox-toolbar.css';
import { type Category, categories } from '@tocsin/contract/fields';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import {
  countFilters,
  type Filters,
  maxQueryCharacters,
  noFilters,
  type SeverityChoice,
  severityChoices,
} from '../../inbox/filters.ts';
import { useInbox, useInboxState } from '../../inbox/inbox-provider.tsx';
import { formatUnread } from '../../inbox/inbox-state.ts';
import { text } from '../../text/index.ts';
import { SearchProgress } from './search-progress.tsx';

const searchDelayMs = 250;

interface ToolbarProps {
  filters: Filters;
  /** `replace` while the user types, so that one step back leaves the whole search. */
  onFilters: (filters: Filters, replace: boolean) => void;
  onMarkAllRead: () => Promise<void>;
  onShowKeys: () => void;
}

export function InboxToolbar({ filters, onFilters, onMarkAllRead, onShowKeys }: ToolbarProps) {
  const store = useInbox();
  const { search, unread, isOffline } = useInboxState();
  const count = countFilters(filters);
  const [isOpen, setOpen] = useState(count > 0);
  const words = text.inbox;
  const toggle = <Choice,>(chosen: readonly Choice[], choice: Choice): Choice[] =>
    chosen.includes(choice) ? chosen.filter((other) => other !== choice) : [...chosen, choice];
  return (
    <header class="inbox-toolbar">
      <div class="inbox-heading">
        <h1>{words.title}</h1>
        <span class="grow" />
        {search === null && formatUnread(unread) !== '' && (
          <Button kind="quiet" small icon="check" disabled={isOffline} onClick={onMarkAllRead}>
            {words.markAllRead}
          </Button>
        )}
        <Button
          class="button quiet small inbox-keys-button"
          kind="quiet"
          small
          onClick={onShowKeys}
          label={words.shortcuts}
        >
          <kbd>?</kbd>
        </Button>
      </div>
      <div class="inbox-search-line">
        <SearchBox value={filters.q} onSearch={(q) => onFilters({ ...filters, q }, filters.q !== '')} />
        <Button
          icon="filter"
          aria-expanded={isOpen}
          aria-controls="inbox-filters"
          class={count > 0 ? 'button inbox-filter-button chosen' : 'button inbox-filter-button'}
          onClick={() => setOpen(!isOpen)}
        >
          <span class="inbox-filter-label">{words.filters}</span>
          {count > 0 && (
            <span class="badge accent">
              <span aria-hidden="true">{count}</span>
              <span class="visually-hidden">{words.filterCount(count)}</span>
            </span>
          )}
        </Button>
      </div>
      <div id="inbox-filters" class="inbox-filters" hidden={!isOpen}>
        <Choices<SeverityChoice>
          legend={words.filterSeverity}
          choices={severityChoices.map((value) => ({ value, label: words.severity[value] }))}
          chosen={filters.severity}
          onToggle={(choice) => onFilters({ ...filters, severity: toggle(filters.severity, choice) }, false)}
        />
        <Choices<Category>
          legend={words.filterCategory}
          choices={categories.map((value) => ({ value, label: words.category[value] }))}
          chosen={filters.category}
          onToggle={(choice) => onFilters({ ...filters, category: toggle(filters.category, choice) }, false)}
        />
        <div class="row between">
          <Chip
            label={words.unreadOnly}
            isChosen={filters.unread}
            onToggle={() => onFilters({ ...filters, unread: !filters.unread }, false)}
          />
          {count > 0 && (
            <Button kind="quiet" small onClick={() => onFilters({ ...noFilters, q: filters.q }, false)}>
              {words.clearFilters}
            </Button>
          )}
        </div>
      </div>
      {search !== null && <SearchProgress search={search} onCancel={() => store.cancelSearch()} />}
    </header>
  );
}

function SearchBox({ value, onSearch }: { value: string; onSearch: (query: string) => void }) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The address changed elsewhere: by going back, or by clearing the filters.
  if (known !== value) {
    setKnown(value);
    if (typed.trim() !== value) setTyped(value);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const commit = (query: string): void => {
    clearTimeout(timer.current);
    if (query.trim() !== value) onSearch(query.trim());
  };
  // The delayed search must use the filters of that moment, which may have changed.
  const latest = useRef(commit);
  latest.current = commit;
  return (
    <search class="inbox-search">
      <Icon name="search" />
      <input
        id={searchBoxId}
        class="input"
        type="search"
        value={typed}
        maxLength={maxQueryCharacters}
        placeholder={text.inbox.searchPlaceholder}
        aria-label={text.inbox.search}
        autocomplete="off"
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          clearTimeout(timer.current);
          timer.current = setTimeout((query: string) => latest.current(query), searchDelayMs, currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') commit(typed);
          if (event.key !== 'Escape') return;
          event.preventDefault();
          if (typed === '') event.currentTarget.blur();
          setTyped('');
          commit('');
        }}
      />
      {typed !== '' && (
        <Button
          kind="quiet"
          small
          icon="close"
          label={text.inbox.clearSearch}
          onClick={() => {
            setTyped('');
            commit('');
          }}
        />
      )}
    </search>
  );
}

export const searchBoxId = 'inbox-search';

interface ChoicesProps<Value extends string> {
  legend: string;
  choices: readonly { value: Value; label: string }[];
  chosen: readonly Value[];
  onToggle: (value: Value) => void;
}

function Choices<Value extends string>({ legend, choices, chosen, onToggle }: ChoicesProps<Value>) {
  return (
    <fieldset class="inbox-choices">
      <legend>{legend}</legend>
      {choices.map(({ value, label }) => (
        <Chip
          key={value}
          label={label}
          kind={value}
          isChosen={chosen.includes(value)}
          onToggle={() => onToggle(value)}
        />
      ))}
    </fieldset>
  );
}

function Chip(props: { label: string; kind?: string; isChosen: boolean; onToggle: () => void }) {
  return (
    <button
      type="button"
      class={`inbox-chip ${props.kind ?? ''}`}
      aria-pressed={props.isChosen}
      onClick={props.onToggle}
    >
      {props.label}
    </button>
  );
}
