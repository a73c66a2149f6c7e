/** From the service worker to a window: show this page. */
export interface OpenRequest {
  kind: 'open';
  path: string;
}
