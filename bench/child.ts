// A child process of the bench that runs one of its modules and communicates over IPC. It ends with the bench.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export class Child {
  readonly #process: ChildProcess;
  readonly #name: string;

  constructor(module: string, args: string[] = []) {
    this.#name = module;
    this.#process = fork(fileURLToPath(new URL(module, import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // Arrays of times are sent as bytes.
      serialization: 'advanced',
    });
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  /** Returns the next message of the process, after sending it one if there is one to send. */
  ask<Reply>(message?: object | string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void => reject(new Error(`${this.#name} ended with ${code}`));
      this.#process.once('exit', onExit);
      this.#process.once('message', (reply) => {
        this.#process.off('exit', onExit);
        resolve(reply as Reply);
      });
      if (message !== undefined) this.#process.send(message, (error) => error !== null && reject(error));
    });
  }

  end(): void {
    this.#process.kill('SIGKILL');
  }
}
