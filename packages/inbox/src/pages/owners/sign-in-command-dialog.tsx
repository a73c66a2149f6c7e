import type { OwnerOverview } from '@tocsin/contract/console';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/index.ts';

const words = text.operator;

/**
 * Shows the command that prints a sign-in link for an owner. The page does not create the link itself: an operator could
 * read the inbox with it, and this page promises that operators cannot. Users with a shell on the server can anyway.
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
