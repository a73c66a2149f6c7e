// The settings of the signed-in owner.
import './settings.css';
import { Button } from '../../components/button.tsx';
import { LoadProblem } from '../../components/load-problem.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { showError } from '../../components/toast.tsx';
import { PushPanel } from '../../push/push-panel.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { About } from './about.tsx';
import { PasskeyList } from './passkey-list.tsx';
import { PhoneLinkPanel } from './phone-link-panel.tsx';
import { ProfileForms } from './profile-forms.tsx';
import { QuietHoursForm } from './quiet-hours-form.tsx';
import { RetentionForm } from './retention-form.tsx';
import { Card, Section, sectionIds } from './section.tsx';
import { SessionList } from './session-list.tsx';
import { ThemeChoice } from './theme-choice.tsx';
import { usePreferences } from './use-preferences.ts';

const words = text.settings;

export function SettingsPage() {
  const { signOut } = useSession();
  const { value: preferences, error, save, reload } = usePreferences();
  const waiting = error === null ? <Loading /> : <p class="soft">{text.common.notLoaded}</p>;
  return (
    <div class="page settings">
      <PageHead title={words.title} />
      <nav class="settings-nav" aria-label={words.sectionNavigation}>
        {sectionIds.map((id) => (
          <a key={id} href={`#${id}`}>
            {words.sections[id]}
          </a>
        ))}
      </nav>
      <div class="settings-sections">
        {error !== null && <LoadProblem error={error} onRetry={reload} />}
        <Section id="profile">
          <Card>{preferences === undefined ? waiting : <ProfileForms preferences={preferences} save={save} />}</Card>
        </Section>
        <Section id="notifications" intro={words.notifications.intro}>
          <PushPanel />
          <Card>{preferences === undefined ? waiting : <QuietHoursForm preferences={preferences} save={save} />}</Card>
        </Section>
        <Section id="history">
          <Card>{preferences === undefined ? waiting : <RetentionForm preferences={preferences} save={save} />}</Card>
        </Section>
        <Section id="sign-in">
          <Card>
            <PasskeyList />
            <SessionList />
          </Card>
        </Section>
        <Section id="phone" intro={words.phone.intro}>
          <Card>
            <PhoneLinkPanel />
          </Card>
        </Section>
        <Section id="appearance">
          <Card>
            <ThemeChoice />
          </Card>
        </Section>
        <Section id="about">
          <Card>
            <About />
          </Card>
        </Section>
        <Button icon="signOut" onClick={() => signOut().catch(showError)}>
          {text.common.signOut}
        </Button>
      </div>
    </div>
  );
}
