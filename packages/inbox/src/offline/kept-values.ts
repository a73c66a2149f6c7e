// What this browser keeps, by name, in IndexedDB: there for pages and for the service worker.
const storeName = 'values';

/** Under this name it is kept who is signed in. */
export const sessionName = 'session';

export async function keep(name: string, value: unknown): Promise<void> {
  await inStore('readwrite', (store) => store.put(value, name));
}

/** Of whoever is signed in: in one step with looking whether somebody still is, since answers come in while people sign out. */
export async function keepWhileSignedIn(name: string, value: unknown): Promise<void> {
  await inStore('readwrite', (store) => {
    const session = store.getKey(sessionName);
    session.addEventListener('success', () => {
      if (session.result !== undefined) store.put(value, name);
    });
    return session;
  });
}

export async function kept<T>(name: string): Promise<T | undefined> {
  return (await inStore('readonly', (store) => store.get(name))) as T | undefined;
}

export async function discard(name: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(name));
}

async function inStore(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await openDatabase();
  try {
    const transaction = database.transaction(storeName, mode);
    const result = await outcome(ask(transaction.objectStore(storeName)));
    if (mode === 'readwrite') await committed(transaction);
    return result;
  } finally {
    database.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open('tocsin', 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  return outcome(request);
}

function outcome<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}
