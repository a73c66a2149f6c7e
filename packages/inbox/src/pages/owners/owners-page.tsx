import { ownerRoutes } from '@tocsin/contract/console/routes';
import './owners.css';
import type { OwnerOverview } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { NewOwnerDialog } from './new-owner-dialog.tsx';
import { OwnersTable } from './owners-table.tsx';

const words = text.operator;

export function OwnersPage() {
  const { value, error, reload } = useLoaded(ownerRoutes.listOwners);
  const [isCreating, setCreating] = useState(false);
  const { service, needsVerifiedPasskey } = useSession();
  const announce = async ({ name, email }: OwnerOverview): Promise<void> => {
    setCreating(false);
    showToast(service.mail && email !== null ? words.createdInvited(name, email) : words.created(name));
    await reload();
  };
  return (
    <div class="page owners">
      <PageHead title={words.title} lead={words.lead}>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {words.create}
        </Button>
      </PageHead>
      <div class="stack">
        {needsVerifiedPasskey && <Notice kind="warning">{text.settings.passkeys.needVerified}</Notice>}
        <Notice>{words.privacy}</Notice>
        {error !== null && <LoadProblem error={error} onRetry={reload} />}
        {value !== undefined && <OwnersTable owners={value.owners} />}
      </div>
      {isCreating && <NewOwnerDialog onCreated={announce} onMaybeCreated={reload} onClose={() => setCreating(false)} />}
    </div>
  );
}
