/** TCP connections that this process has open, both ends of those to itself. */
export function countSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
