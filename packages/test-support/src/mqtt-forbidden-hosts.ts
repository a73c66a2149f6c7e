// Notations of addresses to which no caller may make the gateway connect.

const networks = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
];

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** One IPv4 address in every notation that some parser understands. */
function notationsOf(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const whole = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  const high = hex(a * 256 + b, 4);
  const low = hex(c * 256 + d, 4);
  const fullWidth = [...address].map((mark) => (mark === '.' ? '。' : String.fromCodePoint(0xff10 + Number(mark))));
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${hex(whole, 8)}`,
    `0X${hex(whole, 8).toUpperCase()}`,
    `0${whole.toString(8)}`,
    [a, b, c, d].map((part) => `0x${hex(part, 2)}`).join('.'),
    [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 2 ** 16 + c * 256 + d}`,
    `0x${hex(a, 2)}.${b}.0${c.toString(8)}.${d}`,
    address.replaceAll('.', '%2e'),
    fullWidth.join(''),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
  ];
}

const ofIpv6 = [
  ...['::', '::1', '0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:0000:0000:0001', '::2', '::ffff', '1::', '100::1'],
  ...['fe80::1', 'febf::1', 'fec0::1', 'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fdff:ffff::1', 'ff02::1', 'ff0e::1'],
  ...['2001::1', '2001:db8::1', '2001:10::1', '2001:20::1', '3fff::1', '5f00::1', '4000::1', '8000::1', 'c000::1'],
].map((address) => `[${address}]`);

/** Host names, and ambiguous texts. In the tests they all resolve to 127.0.0.1. */
const names = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ip6-localhost', 'localhost.localdomain', 'ℓocalhost'],
  ...[
    'metadata.google.internal',
    'router',
    'kubernetes.default.svc',
    '127.0.0.1.nip.io',
    'xn--lcalhost-n0a',
    'a_b.test',
  ],
  ...['127.0.0.1@example.com', 'example.com@127.0.0.1', 'user:word@127.0.0.1', '127.0.0.1#example.com', '127.0.0.1?x'],
  ...['127.0.0.1/x', '127.0.0.1\\example.com', 'example.com\\@127.0.0.1', '127.0.0.1%00.example.com', '127.0.0.1\t'],
  ...['127.0.0.1%20', '127.0.0.1\r\nHost: example.com', '127.0.0.1:80', '127.0.0.1:80:80', '[::1]:80', '::1', '[::1'],
  ...['[::1%lo]', '[fe80::1%25eth0]', '[fe80::1%eth0]', '[::ffff:127.0.0.1%1]', '[127.0.0.1]', '', '.', '..', ' ', '*'],
  ...[
    '127.1',
    '127.0.1',
    '0',
    '0x7f.1',
    '017700000001',
    '0x7f000001.',
    '127.0.0.01',
    '127.0.0.1.',
    '1.2.3.4.5',
    '256.0.0.1',
  ],
  ...['①②⑦.⓪.⓪.①', '127。0。0。1', '１２７.0.0.1', '127.0.0.1\u00ad', '127\u200b.0.0.1', '127.0.0.0x1', '127.0x0.1'],
];

export const forbiddenHosts: readonly string[] = [...new Set([...networks.flatMap(notationsOf), ...ofIpv6, ...names])];
