// The tests of backup.test.ts at full length.
process.env.TOCSIN_TEST_LONG = '1';
await import('./backup.test.ts');
