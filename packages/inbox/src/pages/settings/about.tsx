import { CopyButton } from '../../components/copy-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Link } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';

const words = text.settings.about;

export function About() {
  const { service, owner } = useSession();
  return (
    <>
      <dl class="settings-facts">
        <dt>{words.version}</dt>
        <dd>{service.version}</dd>
        <dt>{words.apiUrl}</dt>
        <dd class="row">
          <code>{service.apiUrl}</code>
          <CopyButton value={service.apiUrl} what={words.apiUrl} />
        </dd>
      </dl>
      <div class="row">
        <Link class="button" href="/docs">
          <Icon name="code" />
          {words.docs}
        </Link>
        {owner.role === 'operator' && (
          <Link class="button" href="/owners">
            <Icon name="people" />
            {words.owners}
          </Link>
        )}
      </div>
    </>
  );
}
