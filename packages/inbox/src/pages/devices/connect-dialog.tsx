import type { DeviceWithSettings, MqttSettings } from '@tocsin/contract/console';
import { type MqttConnection, mosquittoCommand, readConnections } from '@tocsin/contract/mqtt-connection';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { ShowOnceDialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { text } from '../../text/index.ts';
import { homeAssistantAutomation, qrText } from './mqtt-connection.ts';

const words = text.devices;

/** The connection settings of a device, with the password, which cannot be shown again. */
export function ConnectDialog({ made, onClose }: { made: DeviceWithSettings; onClose: () => void }) {
  const { device, mqtt } = made;
  const command = mosquittoCommand(mqtt);
  const qr = qrText(mqtt);
  return (
    <ShowOnceDialog
      title={words.settingsTitle(device.name)}
      wide
      confirmTitle={words.closeTitle}
      confirm={words.closeMessage}
      done={words.done}
      onDone={onClose}
    >
      <Notice kind="warning">{words.passwordOnce}</Notice>
      <section class="stack">
        <h3>{words.settingsHeading}</h3>
        <SettingsTable settings={mqtt} />
      </section>
      <section class="stack">
        <h3>{words.commandHeading}</h3>
        {command === null ? (
          <p class="soft">{words.commandNone}</p>
        ) : (
          <>
            <p class="soft">{words.commandHint}</p>
            <CodeBlock code={command.join(' \\\n  ')} what={words.commandName} />
          </>
        )}
      </section>
      <section class="stack">
        <h3>{words.homeAssistantHeading}</h3>
        <p class="soft">{words.homeAssistantHint}</p>
        <CodeBlock code={homeAssistantAutomation(mqtt)} what={words.homeAssistantName} />
      </section>
      <section class="stack">
        <h3>{words.qrHeading}</h3>
        <div class="devices-qr">
          <QrCode value={qr} label={words.qrLabel} />
          <p class="soft">{qr.startsWith('{') ? words.qrJsonHint : words.qrUrlHint}</p>
        </div>
      </section>
    </ShowOnceDialog>
  );
}

function SettingsTable({ settings }: { settings: MqttSettings }) {
  const { username, password, topic } = settings;
  const connections = readConnections(settings);
  return (
    <div class="devices-settings">
      <dl>
        <Setting name={words.username} value={username} />
        <Setting name={words.password} value={password} />
        <Setting name={words.topic} value={topic} />
      </dl>
      {connections.map((connection) => (
        <div key={connection.url}>
          <h4>{connection.isWebSocket ? words.overWebSocket : words.overMqtt}</h4>
          <ConnectionSettings connection={connection} />
        </div>
      ))}
    </div>
  );
}

function ConnectionSettings({ connection }: { connection: MqttConnection }) {
  const { url, host, port, isEncrypted, path } = connection;
  return (
    <dl>
      <Setting name={words.address} value={url} />
      <Setting name={words.host} value={host} />
      <Setting name={words.port} value={String(port)} />
      {path !== null && <Setting name={words.path} value={path} />}
      <div>
        <dt>{words.encryption}</dt>
        <dd>{isEncrypted ? words.encrypted : words.notEncrypted}</dd>
      </div>
    </dl>
  );
}

function Setting({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
        <CopyButton value={value} what={name} />
      </dd>
    </div>
  );
}
