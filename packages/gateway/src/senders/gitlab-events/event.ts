// What the events of GitLab have in common.
import type { JsonObject, JsonValue } from '@tocsin/contract';
import { membersOf, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';

export interface ProjectEvent {
  payload: JsonObject;
  /** `object_attributes`: the thing that the event is about, for most events. */
  item: JsonObject;
  /** The name of the project or group. */
  where: string;
  /** `group/project`. */
  path: string;
  /** The page of the project. */
  home: string | undefined;
  /** Who did it. */
  actor: string | undefined;
  /** `open`, `close`, … */
  action: string;
}

export type FactReader = (event: ProjectEvent) => Facts;

export function projectEvent(value: JsonValue): ProjectEvent {
  const payload = membersOf(value);
  const item = membersOf(payload.object_attributes);
  const project = membersOf(payload.project);
  const path = textOf(project.path_with_namespace) ?? textOf(payload.project_name);
  return {
    payload,
    item,
    where: textOf(project.name) ?? path ?? textAt(payload, 'group', 'group_name') ?? '',
    path: path ?? '',
    home: urlOf(project.web_url) ?? urlOf(project.homepage) ?? urlOf(membersOf(payload.repository).homepage),
    actor: textAt(payload, 'user', 'name') ?? textOf(payload.user_name),
    action: textOf(item.action) ?? textOf(payload.action) ?? '',
  };
}
