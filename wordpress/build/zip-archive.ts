// Reproducible zip archives: sorted names, a fixed date, no metadata of the build machine.
import { crc32, deflateRawSync } from 'node:zlib';

/** 1 January 1980, the earliest date of the format. */
const fixedDate = 0x21;
const deflated = 8;
const utf8Names = 0x800;
/** Unix, so that the external attributes are file permissions. */
const madeBy = (3 << 8) | 20;
const plainFile = 0o100644 * 0x10000;

export function zipArchive(files: ReadonlyMap<string, Buffer>): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const nameBytes = Buffer.from(name);
    const packed = deflateRawSync(content, { level: 9 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(utf8Names, 2);
    common.writeUInt16LE(deflated, 4);
    common.writeUInt16LE(0, 6);
    common.writeUInt16LE(fixedDate, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    bodies.push(Buffer.from('PK\x03\x04', 'latin1'), common, nameBytes, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(plainFile, 6);
    rest.writeUInt32LE(offset, 10);
    const version = Buffer.from([madeBy & 0xff, madeBy >> 8]);
    directory.push(Buffer.from('PK\x01\x02', 'latin1'), version, common, rest, nameBytes);
    offset += 4 + common.length + nameBytes.length + packed.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.size, 4);
  end.writeUInt16LE(files.size, 6);
  end.writeUInt32LE(listing.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...bodies, listing, Buffer.from('PK\x05\x06', 'latin1'), end]);
}
