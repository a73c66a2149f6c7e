/** The language of the texts, and the `lang` attribute of index.html. */
const language = 'en';

/** The locale of all dates and numbers. */
export const locale = formatLocale(language, globalThis.navigator?.language);

/**
 * Combines the language of the page with the region of the reader, so that an English page shows no German month names, and
 * a reader in Germany sees no AM and PM. `preferred` is the locale of the browser.
 */
export function formatLocale(pageLanguage: string, preferred: string | undefined): string {
  try {
    const { region } = new Intl.Locale(preferred ?? pageLanguage).maximize();
    return region === undefined ? pageLanguage : `${pageLanguage}-${region}`;
  } catch {
    return pageLanguage;
  }
}
