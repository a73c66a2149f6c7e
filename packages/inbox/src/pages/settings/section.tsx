import type { ComponentChildren } from 'preact';
import { text } from '../../text/index.ts';

export const sectionIds = ['profile', 'notifications', 'history', 'sign-in', 'phone', 'appearance', 'about'] as const;

interface SectionProps {
  id: (typeof sectionIds)[number];
  intro?: string;
  children: ComponentChildren;
}

/** `id` is also the fragment of its address. */
export function Section({ id, intro, children }: SectionProps) {
  return (
    <section id={id} class="settings-section" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{text.settings.sections[id]}</h2>
      {intro !== undefined && <p class="soft">{intro}</p>}
      {children}
    </section>
  );
}

/** A part of a card with its own heading. */
export function Block({ title, intro, children }: { title: string; intro: string; children?: ComponentChildren }) {
  return (
    <div class="settings-block">
      <div>
        <h3>{title}</h3>
        <p class="soft small">{intro}</p>
      </div>
      {children}
    </div>
  );
}

export function Card({ children }: { children: ComponentChildren }) {
  return <div class="card settings-card">{children}</div>;
}
