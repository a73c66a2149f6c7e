// Parses the output of strace (-f -o FILE). A call that another thread's line interrupts is written in two parts,
// "<unfinished ...>" and "resumed"; here it is one call, with the place in the trace where it began and where it ended.

export interface SystemCall {
  name: string;
  /** Everything between the parentheses. */
  text: string;
  beganAt: number;
  /** Infinity if it did not end. */
  endedAt: number;
  /** The return value; NaN if the call did not return. */
  result: number;
}

export function readTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, SystemCall>();
  trace.split('\n').forEach((line, position) => {
    const [, thread = '', event = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)\) += (-?\d+)/.exec(event);
    if (resumed !== null) {
      const call = unfinished.get(thread);
      unfinished.delete(thread);
      if (call !== undefined) {
        call.text += resumed[1];
        Object.assign(call, { endedAt: position, result: Number(resumed[2]) });
      }
      return;
    }
    const [, name, text = '', ending = ''] = /^(\w+)\((.*?)(\) += -?\d+[^"]*| <unfinished \.\.\.>)$/.exec(event) ?? [];
    if (name === undefined) return;
    const result = /= (-?\d+)/.exec(ending)?.[1];
    const call = { beganAt: position, endedAt: Number.POSITIVE_INFINITY, name, text, result: Number.NaN };
    if (result === undefined) unfinished.set(thread, call);
    else Object.assign(call, { endedAt: position, result: Number(result) });
    calls.push(call);
  });
  return calls;
}
