/** Recognizes an open Markdown citation before the cursor. */

/** Whether the text before a cursor ends inside a citation: `[@graph att`, `[see @`. */
export function isInCitation(before: string): boolean {
  const open = before.lastIndexOf("[");
  if (open < 0) return false;
  const inside = before.slice(open + 1);
  return !inside.includes("]") && /(?:^|[\s;,(-])@/.test(inside);
}
