import type { SessionEntry } from '@tocsin/contract/console';
import { sessionRoutes } from '@tocsin/contract/console/routes';
import { call } from '../../api/client.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Button } from '../../components/button.tsx';
import { Ago } from '../../components/time.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { describeBrowser } from '../../push/describe-browser.ts';
import { text } from '../../text/index.ts';
import { EntryList } from './entry-list.tsx';
import { Block } from './section.tsx';

const words = text.settings.sessions;

export function SessionList() {
  const sessions = useLoaded(sessionRoutes.listSessions);
  const entries = sessions.value?.sessions;
  const end = async (session: SessionEntry): Promise<void> => {
    await call(sessionRoutes.deleteSession, { params: { id: session.id } }).catch(showError);
    await sessions.reload();
  };
  const endOthers = async (): Promise<void> => {
    try {
      const { count } = await call(sessionRoutes.signOutOthers);
      showToast(words.ended(count));
    } catch (error) {
      showError(error);
    }
    await sessions.reload();
  };
  return (
    <Block title={words.title} intro={words.intro}>
      <EntryList
        loaded={sessions}
        entries={entries}
        icon="globe"
        nameOf={({ userAgent, isThisOne }) => (
          <>
            {describeBrowser(userAgent)} {isThisOne && <span class="badge good">{words.thisBrowser}</span>}
          </>
        )}
        detailOf={({ method, address, seenAt, isThisOne }) => (
          <>
            {words.from(words.methods[method], address)} {words.seen} {isThisOne ? words.now : <Ago at={seenAt} />}
          </>
        )}
        actionOf={(session) =>
          !session.isThisOne && (
            <Button small aria-label={words.endOf(describeBrowser(session.userAgent))} onClick={() => end(session)}>
              {words.end}
            </Button>
          )
        }
      />
      {entries !== undefined && entries.length > 1 && (
        <div>
          <Button small danger onClick={endOthers}>
            {words.endOthers}
          </Button>
        </div>
      )}
    </Block>
  );
}
