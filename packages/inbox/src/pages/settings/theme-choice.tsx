import { useState } from 'preact/hooks';
import { text } from '../../text/index.ts';
import { chooseTheme, currentTheme, themes } from '../../theme.ts';

const words = text.settings.appearance;

export function ThemeChoice() {
  const [chosen, setChosen] = useState(currentTheme);
  return (
    <fieldset class="settings-themes">
      <legend class="small soft">{words.theme}</legend>
      {themes.map((theme) => (
        <label key={theme} class="settings-theme">
          <input
            type="radio"
            name="theme"
            checked={chosen === theme}
            onChange={() => {
              chooseTheme(theme);
              setChosen(theme);
            }}
          />
          <span class={`settings-theme-sample ${theme}`} aria-hidden="true" />
          {words.themes[theme]}
        </label>
      ))}
    </fieldset>
  );
}
