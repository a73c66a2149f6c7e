import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isQuiet, parseTimeZone } from './quiet-hours.ts';

const night = { from: '22:00', to: '07:00' };
const noon = { from: '12:00', to: '13:30' };

function quietAt(span: typeof night, timeZone: string, times: string[]): boolean[] {
  return times.map((time) => isQuiet(span, timeZone, Date.parse(time)));
}

suite('Quiet hours', () => {
  test('begin with the minute of their start and are over with the minute of their end', () => {
    const times = ['11:59:59.999Z', '12:00:00Z', '13:29:59.999Z', '13:30:00Z'].map((time) => `2026-11-15T${time}`);
    assert.deepEqual(quietAt(noon, 'UTC', times), [false, true, true, false]);
  });

  test('go on over midnight where the end comes first', () => {
    const times = ['21:59:59Z', '22:00:00Z', '00:00:00Z', '06:59:59Z', '07:00:00Z', '12:00:00Z'];
    assert.deepEqual(
      quietAt(
        night,
        'UTC',
        times.map((time) => `2026-11-15T${time}`),
      ),
      [false, true, true, true, false, false],
    );
  });

  test('are those of the clock in the zone, in summer and in winter', () => {
    // 05:30 by UTC is 06:30 in Berlin in winter and 07:30 in summer.
    assert.deepEqual(quietAt(night, 'Europe/Berlin', ['2026-01-15T05:30:00Z', '2026-07-15T05:30:00Z']), [true, false]);
    assert.deepEqual(quietAt(night, 'Asia/Kolkata', ['2026-01-15T16:29:00Z', '2026-01-15T16:30:00Z']), [false, true]);
  });

  test('follow the clock when it is put forward and back', () => {
    // On 29 March 2026 Berlin goes from 01:59 to 03:00, on 25 October from 02:59 to 02:00.
    const span = { from: '02:30', to: '03:30' };
    const spring = ['2026-03-29T00:59:59Z', '2026-03-29T01:00:00Z', '2026-03-29T01:29:59Z', '2026-03-29T01:30:00Z'];
    assert.deepEqual(quietAt(span, 'Europe/Berlin', spring), [false, true, true, false]);
    const autumn = ['2026-10-25T00:30:00Z', '2026-10-25T01:10:00Z', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00Z'];
    assert.deepEqual(quietAt(span, 'Europe/Berlin', autumn), [true, false, true, false]);
  });

  test('do not apply without a span or in an unknown time zone', () => {
    assert.equal(isQuiet(null, 'UTC', 0), false);
    assert.equal(isQuiet(night, 'Atlantis/Main', Date.parse('2026-11-15T23:00:00Z')), false);
  });

  test('take the zones that Intl knows, and no others', () => {
    assert.equal(parseTimeZone('europe/berlin'), 'Europe/Berlin');
    assert.equal(parseTimeZone('Atlantis/Main'), undefined);
    assert.equal(parseTimeZone(''), undefined);
  });
});
