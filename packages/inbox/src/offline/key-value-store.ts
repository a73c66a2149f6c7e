// A key-value store in IndexedDB, shared by the pages and the service worker.
const storeName = 'values';

/** Key of the stored session: present while an owner is signed in. */
export const sessionKey = 'session';

export async function saveValue(key: string, value: unknown): Promise<void> {
  await inTransaction('readwrite', (store) => store.put(value, key));
}

/** Checks for the session in the same transaction, because responses can arrive while the owner signs out. */
export async function saveWhileSignedIn(key: string, value: unknown): Promise<void> {
  await inTransaction('readwrite', (store) => {
    const session = store.getKey(sessionKey);
    session.addEventListener('success', () => {
      if (session.result !== undefined) store.put(value, key);
    });
    return session;
  });
}

export async function loadValue<T>(key: string): Promise<T | undefined> {
  return (await inTransaction('readonly', (store) => store.get(key))) as T | undefined;
}

export async function deleteValue(key: string): Promise<void> {
  await inTransaction('readwrite', (store) => store.delete(key));
}

async function inTransaction(mode: IDBTransactionMode, run: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await openDatabase();
  try {
    const transaction = database.transaction(storeName, mode);
    const result = await resultOf(run(transaction.objectStore(storeName)));
    if (mode === 'readwrite') await committed(transaction);
    return result;
  } finally {
    database.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open('tocsin', 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  return resultOf(request);
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
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
