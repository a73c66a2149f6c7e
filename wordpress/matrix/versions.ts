// Prints the versions of WordPress, PHP and the database of a test site as the last line: node wordpress/matrix/versions.ts
import { fileURLToPath } from 'node:url';
import { WordPressSite } from '../test/support/wordpress-site.ts';

const site = await WordPressSite.create();
try {
  const versions = await site.php(`return require $input;`, fileURLToPath(new URL('versions.php', import.meta.url)));
  console.log(JSON.stringify(versions));
} finally {
  await site.remove();
}
