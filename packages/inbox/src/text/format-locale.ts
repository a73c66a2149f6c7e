/**
 * The locale of dates and numbers: the language of the page with the customs of the reader's region, so that an English page
 * shows no German month names, and a German reader no AM and PM. `preferred` is what the browser says.
 */
export function formatLocale(language: string, preferred: string | undefined): string {
  try {
    const reader = new Intl.Locale(preferred ?? language).maximize();
    return reader.region === undefined ? language : `${language}-${reader.region}`;
  } catch {
    return language;
  }
}
