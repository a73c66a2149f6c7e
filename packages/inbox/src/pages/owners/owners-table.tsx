import type { OwnerOverview } from '@tocsin/contract/console';
import { ownerRoutes } from '@tocsin/contract/console/routes';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Ago } from '../../components/time.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { SignInCommandDialog } from './sign-in-command-dialog.tsx';

const words = text.operator;

/** A table on wide screens, one card per owner on narrow ones. */
export function OwnersTable({ owners }: { owners: readonly OwnerOverview[] }) {
  const { owner: me, service } = useSession();
  const [commandFor, setCommandFor] = useState<OwnerOverview | null>(null);
  return (
    <>
      <table class="owners-table card">
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.keys}</th>
            <th scope="col">{words.devices}</th>
            <th scope="col">{words.pushTargets}</th>
            <th scope="col" title={words.waitingHint}>
              {words.waiting}
            </th>
            <th scope="col" title={words.deadHint}>
              {words.dead}
            </th>
            <th scope="col">{words.newest}</th>
            <th scope="col">
              <span class="visually-hidden">{words.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {owners.map((owner) => (
            <tr key={owner.id}>
              <th scope="row">
                <span class="row">
                  {owner.name}
                  {owner.role === 'operator' && <span class="badge accent">{words.role.operator}</span>}
                  {owner.id === me.id && <span class="badge">{words.you}</span>}
                </span>
                <span class="small soft">{owner.email ?? words.noEmail}</span>
                <code class="owners-id">{owner.id}</code>
              </th>
              <Cell name={words.keys}>{owner.keys}</Cell>
              <Cell name={words.devices}>{owner.devices}</Cell>
              <Cell name={words.pushTargets}>{owner.pushTargets}</Cell>
              <Cell name={words.waiting} mark={owner.waiting > 0 ? 'warning' : ''}>
                {owner.waiting}
              </Cell>
              <Cell name={words.dead} mark={owner.dead > 0 ? 'error' : ''}>
                {owner.dead}
              </Cell>
              <Cell name={words.newest}>
                {owner.newestAt === null ? words.newestNone : <Ago at={owner.newestAt} />}
              </Cell>
              <td class="owners-actions">
                {service.mail && owner.email !== null ? (
                  <InviteButton owner={owner} email={owner.email} />
                ) : (
                  <Button
                    small
                    icon="link"
                    aria-label={words.signInLinkOf(owner.name)}
                    onClick={() => setCommandFor(owner)}
                  >
                    {words.signInLink}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {commandFor !== null && <SignInCommandDialog owner={commandFor} onClose={() => setCommandFor(null)} />}
    </>
  );
}

/** Shows the column name next to the value on narrow screens, which have no column headers. */
function Cell({ name, mark = '', children }: { name: string; mark?: string; children: ComponentChildren }) {
  return (
    <td>
      <span class="owners-label">{name}</span>
      {mark === '' ? <span>{children}</span> : <span class={`badge ${mark}`}>{children}</span>}
    </td>
  );
}

function InviteButton({ owner, email }: { owner: OwnerOverview; email: string }) {
  const invite = async (): Promise<void> => {
    try {
      await call(ownerRoutes.inviteOwner, { params: { id: owner.id } });
      showToast(words.invited(email));
    } catch (error) {
      showError(error);
    }
  };
  return (
    <Button small icon="email" aria-label={words.inviteOf(owner.name)} onClick={invite}>
      {words.invite}
    </Button>
  );
}
