import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';
import './styles/layout.css';
import './styles/forced-colors.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { registerServiceWorker } from './service-worker-registration.ts';
import { applyTheme } from './theme.ts';

applyTheme();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
registerServiceWorker();
