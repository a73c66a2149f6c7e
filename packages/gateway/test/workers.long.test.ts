// The tests of workers.test.ts at full length.
process.env.TOCSIN_TEST_LONG = '1';
await import('./workers.test.ts');
