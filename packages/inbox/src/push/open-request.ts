/** Message of the service worker to a window: navigate to this path. */
export interface OpenRequest {
  kind: 'open';
  path: string;
}
