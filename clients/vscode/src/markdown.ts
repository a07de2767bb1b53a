/** Where a citation of Markdown is being typed. */

/** True when the text before a cursor ends within a citation: `[@graph att`, `[see @`. */
export function isInCitation(before: string): boolean {
  const open = before.lastIndexOf("[");
  if (open < 0) return false;
  const inside = before.slice(open + 1);
  return !inside.includes("]") && /(?:^|[\s;,(-])@/.test(inside);
}
