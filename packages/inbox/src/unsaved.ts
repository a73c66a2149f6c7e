// Edits that are not saved: kept while other parts of the page are saved, and asked about before they are lost.
import { useEffect, useId, useState } from 'preact/hooks';

const unsaved = new Set<string>();

export function hasUnsavedEdits(): boolean {
  return unsaved.size > 0;
}

/** For when the person said that they may be lost. */
export function forgetUnsavedEdits(): void {
  unsaved.clear();
}

/** While true, leaving the page is asked about. */
export function useUnsaved(isChanged: boolean): void {
  const id = useId();
  useEffect(() => {
    if (!isChanged) return;
    unsaved.add(id);
    // The browser asks in its own words.
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => {
      unsaved.delete(id);
      removeEventListener('beforeunload', ask);
    };
  }, [id, isChanged]);
}

export interface Draft<T> {
  /** What was edited, or else what is saved, also when that changes elsewhere. */
  value: T;
  isChanged: boolean;
  set(value: T): void;
  /** After saving: what is saved counts again. */
  reset(): void;
}

export function useDraft<T>(saved: T): Draft<T> {
  const [edited, setEdited] = useState<{ value: T } | null>(null);
  const value = edited === null ? saved : edited.value;
  const isChanged = edited !== null && JSON.stringify(value) !== JSON.stringify(saved);
  return {
    value,
    isChanged,
    set: (next) => setEdited({ value: next }),
    reset: () => setEdited(null),
  };
}
