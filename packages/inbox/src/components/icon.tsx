// Line icons on a 24 × 24 grid, in the colour of the surrounding text.
const paths = {
  bell: 'M6 9a6 6 0 1 1 12 0c0 5 2 6.5 2 6.5H4S6 14 6 9M10 19.5a2.2 2.2 0 0 0 4 0',
  inbox: 'M3 13h5l1.5 3h5L16 13h5M5.5 5h13L21 13v6H3v-6z',
  device: 'M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1M11 18h2',
  key: 'M15.5 13a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M12.3 11.7L4 20M6.5 17.5L9 20M9.5 14.5l2 2',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.3a3.5 3.5 0 0 1 0 6.4M17.5 14.3c2.1.7 3.5 2.8 3.5 5.7',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M16.5 16.5L21 21',
  check: 'M4 12.5l5 5L20 6.5',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  up: 'M5 15l7-7 7 7',
  down: 'M5 9l7 7 7-7',
  plus: 'M12 5v14M5 12h14',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  more: 'M4.5 12a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0M11.2 12a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0M17.9 12a.8.8 0 1 0 1.6 0 .8.8 0 1 0-1.6 0',
  send: 'M4 12l16-8-6 16-3-7z',
  email: 'M3 6h18v12H3zM3 7l9 7 9-7',
  mqtt: 'M4 19h.01M4 13a6 6 0 0 1 6 6M4 7a12 12 0 0 1 12 12',
  warning: 'M12 4L2.5 20h19zM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8h.01',
  error: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9 9l6 6M15 9l-6 6',
  critical: 'M8.3 3h7.4L21 8.3v7.4L15.7 21H8.3L3 15.7V8.3zM12 7.5v5.5M12 16.5h.01',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3 2',
  link: 'M10 13.5a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 6.6M14 10.5a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7l1.3-1.3',
  refresh: 'M20 6v5h-5M4 18v-5h5M5.5 9a7.5 7.5 0 0 1 13-1.5L20 11M18.5 15a7.5 7.5 0 0 1-13 1.5L4 13',
  offline: 'M3 3l18 18M8.5 16a5 5 0 0 1 5.4-1M5 12.5a10 10 0 0 1 4-2.3M19 12.5a10 10 0 0 0-6-2.9M12 20h.01',
  passkey:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 20c0-3.5 2.5-6 6-6 1 0 2 .2 2.8.6M17.5 16a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M17.5 16v5l1.5-1.5M17.5 18.5H19',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5',
  signOut: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H10',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  filter: 'M4 6h16M7 12h10M10 18h4',
} as const;

export type IconName = keyof typeof paths;

/** Decorative: its meaning is in the text next to it or in the name of its button. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
