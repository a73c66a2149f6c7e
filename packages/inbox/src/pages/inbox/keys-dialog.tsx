import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/index.ts';

const { keys } = text.inbox;
const rows: [string[], string][] = [
  [['j', '↓'], keys.next],
  [['k', '↑'], keys.previous],
  [['Enter', 'o'], keys.open],
  [['u'], keys.read],
  [['#', 'Delete'], keys.delete],
  [['z'], keys.undo],
  [['/'], keys.search],
  [['Esc'], keys.close],
  [['?'], keys.help],
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={text.inbox.shortcuts} onClose={onClose}>
      <dl class="inbox-keys">
        {rows.map(([pressed, meaning]) => (
          <div key={meaning}>
            <dt>
              {pressed.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
