import { useEffect, useState } from 'preact/hooks';
import { ConfirmDialog } from '../components/dialog.tsx';
import { onLeaveUnsaved } from '../router.tsx';
import { text } from '../text/index.ts';

/** Asks for confirmation before a page with unsaved edits is left. */
export function LeaveDialog() {
  const [leave, setLeave] = useState<(() => void) | null>(null);
  useEffect(() => {
    onLeaveUnsaved((go) => setLeave(() => go));
    return () => onLeaveUnsaved((go) => go());
  }, []);
  if (leave === null) return null;
  return (
    <ConfirmDialog
      title={text.common.leaveTitle}
      message={text.common.leave}
      action={text.common.leaveAction}
      onConfirm={async () => {
        setLeave(null);
        leave();
      }}
      onClose={() => setLeave(null)}
    />
  );
}
