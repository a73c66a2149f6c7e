// The tests of interrupted-start.test.ts at full length.
process.env.TOCSIN_TEST_LONG = '1';
await import('./interrupted-start.test.ts');
