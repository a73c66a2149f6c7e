// Tracks unsaved edits: they survive saving other forms of the page, and leaving the page needs a confirmation.
import { useEffect, useId, useState } from 'preact/hooks';

const unsaved = new Set<string>();

export function hasUnsavedEdits(): boolean {
  return unsaved.size > 0;
}

/** Called after the user confirmed leaving the page. */
export function discardUnsavedEdits(): void {
  unsaved.clear();
}

/** While `isChanged` is true, leaving the page needs a confirmation. */
export function useUnsaved(isChanged: boolean): void {
  const id = useId();
  useEffect(() => {
    if (!isChanged) return;
    unsaved.add(id);
    // The browser shows its own prompt.
    const preventUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', preventUnload);
    return () => {
      unsaved.delete(id);
      removeEventListener('beforeunload', preventUnload);
    };
  }, [id, isChanged]);
}

export interface Draft<T> {
  /** The edited value, or the saved one if there are no edits. */
  value: T;
  isChanged: boolean;
  set(value: T): void;
  /** Discards the edits, after they were saved. */
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
