import type { EncodedData } from './encoded-data.ts';
import type { ErrorCode } from './errors.ts';
import type { Category, kind, Qos, Severity } from './fields.ts';
import type { JsonObject, JsonValue } from './json.ts';

export type { JsonObject, JsonValue } from './json.ts';

/** The request of a caller. Any other top-level field is merged into the data. */
export interface NotificationRequest {
  title?: string;
  body?: string;
  source?: string;
  category?: string;
  severity?: string;
  sendPush?: boolean;
  sendEmail?: boolean;
  sendMqtt?: boolean;
  strictDelivery?: boolean;
  deviceId?: string;
  mqttQos?: Qos;
  mqttConnection?: { mode: 'environment' | 'custom' };
  mqttConfig?: MqttConfigRequest;
  payload?: JsonObject;
  data?: JsonObject;
  [other: string]: unknown;
}

export interface MqttConfigRequest {
  url?: string;
  host?: string;
  port?: number;
  path?: string;
  username?: string;
  password?: string;
  clientId?: string;
  topic?: string;
}

/** What a notification says. It is stored as JSON with its fields in this order. */
export interface NotificationContent {
  title: string;
  body: string;
  source: string;
  category: Category;
  severity: Severity | null;
  data: JsonObject;
}

/** The content while the gateway processes it: large data may be encoded. */
export interface AcceptedContent extends Omit<NotificationContent, 'data'> {
  data: JsonObject | EncodedData;
}

/** What the sender of a hook has sent, whole: for the owner and exports. Channels never carry it. */
export interface Original {
  /** The JSON value or the fields of the form; text for any other body. */
  event: JsonValue;
  /** The name of the event and the delivery id, as far as the sender sends them. */
  headers: Record<string, string>;
}

/** The request after normalization: every field has its final value. */
export interface NormalizedRequest {
  content: AcceptedContent;
  sendPush: boolean;
  /** null: the preference of the owner applies. */
  sendEmail: boolean | null;
  sendMqtt: boolean;
  strictDelivery: boolean;
  /** null: all active devices. */
  deviceId: string | null;
  mqttQos: Qos;
  /** null: the broker of the service. */
  customBroker: CustomBroker | null;
  /** Channels by name that a hook or its sender has disabled. */
  disabledChannels?: readonly string[];
  /** Stored beside the content. */
  original?: Original;
  /** Present if the request is a message of ntfy: repeated in the response, which clients of ntfy decode. */
  ntfy?: { topic: string; message: string };
}

/** A broker named by the request: used for this request only and never stored. */
export interface CustomBroker {
  host: string;
  port: number;
  path: string;
  username: string | null;
  password: string | null;
  clientId: string | null;
  /** null: one publish per device, on the topics of the service. */
  topic: string | null;
}

export type StoreReason = 'encryption_key_missing' | 'store_unavailable';
export type MqttSkipReason = 'no_active_devices' | 'disabled_by_request' | 'quiet_hours';
export type EmailSkipReason =
  | 'no_address'
  | 'disabled_by_owner'
  | 'disabled_by_request'
  | 'not_configured'
  | 'quiet_hours';
export type Warning =
  | 'mqtt_publish_failed_partial'
  | 'mqtt_no_subscriber'
  | 'push_failed_partial'
  | 'email_send_failed'
  | 'redelivery_scheduled'
  | 'quiet_hours';

/** The result of each channel; part of the success response and of the 502. */
export interface ChannelReport {
  stored: boolean;
  storeReason?: StoreReason;
  payloadPreview: Omit<NotificationContent, 'data'> & { type: typeof kind; dataKeys: string[] };
  pushSent: boolean;
  pushAttempted: number;
  pushEnabled: boolean;
  emailEnabled: boolean;
  emailSent: boolean;
  emailSkipReason?: EmailSkipReason;
  mqttPublishedCount: number;
  mqttFailedCount: number;
  mqttSkipped: boolean;
  mqttSkipReason?: MqttSkipReason;
  mqttError: string | null;
  warnings: Warning[];
  mqttEnabled: boolean;
  /** Targets of channels that have no fields of their own above; missing if no such channel is configured. */
  channels?: TargetReport[];
}

export interface TargetReport {
  channel: string;
  target: string;
  outcome: 'sent' | 'retry' | 'gone' | 'rejected';
  /** For people; missing if it was sent. */
  error?: string;
}

export interface SuccessResponse extends ChannelReport {
  ok: true;
  kind: typeof kind;
  id: string;
  requestId: string;
  timestamp: string;
}

export interface ErrorDetail {
  field: string;
  problem: string;
}

export interface ErrorResponse extends Partial<ChannelReport> {
  ok: false;
  error: string;
  code: ErrorCode;
  details?: ErrorDetail[];
  /** Only with 502: the id of the notification, which stays stored. */
  id?: string;
  requestId: string;
  timestamp: string;
}
