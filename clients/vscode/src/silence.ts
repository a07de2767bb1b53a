/** Which messages the author does not want to see again, in any window. */

/** The title of the button. */
export const QUIET = "Don't Show Again";

const KEY = "silenced";

/** What an editor remembers over its windows. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

export class Silence {
  constructor(private readonly memory: Memory) {}

  /** True for a message that is not to be shown by itself; as an answer it is shown all the same. */
  covers(code: string): boolean {
    return this.codes().includes(code);
  }

  async add(code: string): Promise<void> {
    if (!this.covers(code)) await this.memory.update(KEY, [...this.codes(), code]);
  }

  /** Everything is shown again. */
  async end(): Promise<void> {
    await this.memory.update(KEY, undefined);
  }

  private codes(): readonly string[] {
    const found = this.memory.get(KEY);
    return Array.isArray(found) ? found : [];
  }
}
