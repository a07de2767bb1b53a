/** The messages that the author silenced, for all windows. */

/** The title of the button. */
export const DONT_SHOW_AGAIN = "Don't Show Again";

const KEY = "silenced";

/** Storage shared by all windows. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

export class Silence {
  constructor(private readonly memory: Memory) {}

  /** Whether an unsolicited message is silenced; responses to a command are still shown. */
  covers(code: string): boolean {
    return this.codes().includes(code);
  }

  async add(code: string): Promise<void> {
    if (!this.covers(code)) await this.memory.update(KEY, [...this.codes(), code]);
  }

  /** Forgets all silenced messages. */
  async end(): Promise<void> {
    await this.memory.update(KEY, undefined);
  }

  private codes(): readonly string[] {
    const found = this.memory.get(KEY);
    return Array.isArray(found) ? found : [];
  }
}
