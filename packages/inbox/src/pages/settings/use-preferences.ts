import type { Preferences } from '@tocsin/contract/console';
import { settingsRoutes } from '@tocsin/contract/console/routes';
import { useCallback } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { type Loaded, useLoaded } from '../../api/use-loaded.ts';
import { showToast } from '../../components/toast.tsx';
import { text } from '../../text/index.ts';

export type SavePreferences = (changes: Partial<Preferences>) => Promise<void>;

export function usePreferences(): Loaded<Preferences> & { save: SavePreferences } {
  const preferences = useLoaded(settingsRoutes.getPreferences);
  const { reload } = preferences;
  const save = useCallback<SavePreferences>(
    async (changes) => {
      // Start from the current preferences, which may have been changed in another browser.
      const current = await call(settingsRoutes.getPreferences);
      await call(settingsRoutes.updatePreferences, { body: { ...current, ...changes } });
      showToast(text.settings.saved);
      await reload();
    },
    [reload],
  );
  return { ...preferences, save };
}
