/** `TOCSIN_TEST_LONG=1` runs scenarios at full length; by default they run in a few rounds. */
export const isLongRun = process.env.TOCSIN_TEST_LONG === '1';
