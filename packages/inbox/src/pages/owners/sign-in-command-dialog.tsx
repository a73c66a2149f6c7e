import type { OwnerOverview } from '@tocsin/contract/console';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/index.ts';

const words = text.operator;

/**
 * The command that prints a sign-in link for an owner. The page itself makes none: with a link an operator could read the
 * inbox, and this page promises that operators do not. Who runs commands on the server can do so in any case.
 */
export function SignInCommandDialog({ owner, onClose }: { owner: OwnerOverview; onClose: () => void }) {
  return (
    <Dialog title={words.signInLinkOf(owner.name)} onClose={onClose}>
      <p>{words.signInCommand(owner.name)}</p>
      <CodeBlock code={`npx tocsin owner sign-in ${owner.id}`} what={words.signInCommandName} />
      <p class="soft small">{words.signInCommandHint}</p>
    </Dialog>
  );
}
