/** `TOCSIN_TEST_LONG=1` runs scenarios at full length; without it they show the same in a few rounds. */
export const isLongRun = process.env.TOCSIN_TEST_LONG === '1';
