// The tests of durability.test.ts at full length.
process.env.TOCSIN_TEST_LONG = '1';
await import('./durability.test.ts');
