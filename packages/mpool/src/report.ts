import type { Audit, Holding } from './audit.js';

const MOST_LINES = 20;

/**
 * An audit as text, for people.
 *
 * @param describe says what an element holds; it may have been put meanwhile, and what it throws is left out.
 */
export function reportText(name: string, audit: Audit, describe?: (descriptor: number) => string): string {
  const { outstanding, free, cached, unsent, capacity, holders, unreachable, listedWrongly } = audit;
  const lines = [
    `pool "${name}": ${outstanding} outstanding, ${free} free, ${cached} in magazines, ${unsent} put and not sent off, ${capacity} in all`,
    `  got ${audit.got}, put ${audit.put} (${audit.putAcrossThreads} across threads), recovered ${audit.recovered}, refused ${audit.refused}`,
  ];
  lines.push(
    ...listed(
      holders.map(
        (holding) => `  outstanding: ${holdingText(holding)}${contents(holding.descriptor, describe)}`,
      ),
    ),
  );
  lines.push(...listed(unreachable.map((slot) => `  free but unreachable: slot ${slot}`)));
  lines.push(
    ...listed(listedWrongly.map((slot) => `  listed twice, or listed though not free: slot ${slot}`)),
  );
  lines.push(
    ...listed(
      audit.putTwice.map(
        ({ descriptor, threadId }) =>
          `  put twice: descriptor ${descriptor}, the second time by thread ${threadId}`,
      ),
    ),
  );
  lines.push(
    ...listed(
      audit.damage.map(
        ({ descriptor, kind, threadId, foundBy }) =>
          `  ${kind}: descriptor ${descriptor}, by thread ${threadId}, found by thread ${foundBy}`,
      ),
    ),
  );
  if (!audit.consistent) lines.push('  this is no consistent snapshot');
  return lines.join('\n');
}

/** Who has it, and as far as that is noted who got it, when and where. */
function holdingText({ descriptor, state, threadId, gotBy, ageMs, place, stack }: Holding): string {
  const preposition = state === 'sent' ? 'to' : 'by';
  const getter = gotBy === threadId ? '' : ` by thread ${gotBy}`;
  const age = ageMs === undefined ? '' : ` ${ageMs} ms ago`;
  const origin = `${getter}${age}${place ? ` at ${place}` : ''}`;
  const start = `descriptor ${descriptor}, ${state} ${preposition} thread ${threadId}`;
  return `${start}${origin && `, got${origin}`}${stack ? `\n${stack}` : ''}`;
}

function listed(lines: readonly string[]): string[] {
  if (lines.length <= MOST_LINES) return [...lines];
  return [...lines.slice(0, MOST_LINES), `  … and ${lines.length - MOST_LINES} more`];
}

function contents(descriptor: number, describe: ((descriptor: number) => string) | undefined): string {
  if (!describe) return '';
  try {
    return `: ${describe(descriptor)}`;
  } catch {
    return '';
  }
}
