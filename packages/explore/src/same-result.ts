/** Whether two results are alike: equal numbers, or arrays, maps, sets and plain objects of like parts. */
export function sameResult(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return typeof one === 'function' && typeof other === 'function';
  }
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (one instanceof Map || one instanceof Set) {
    return sameResult([...one], [...(other as Map<unknown, unknown> | Set<unknown>)]);
  }
  if (ArrayBuffer.isView(one)) {
    const [left, right] = [one, other] as unknown as ArrayLike<unknown>[];
    return sameResult(Array.from(left!), Array.from(right!));
  }
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      sameResult((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}

/**
 * A string that is the same for like results only; undefined for one that holds anything else than numbers, strings,
 * arrays and plain objects.
 */
export function resultKey(value: unknown): string | undefined {
  let plain = true;
  const text = JSON.stringify(value, (_key, part) => {
    switch (typeof part) {
      case 'undefined':
        return { undefined: true };
      case 'number':
        return Number.isFinite(part) && !Object.is(part, -0)
          ? part
          : { number: Object.is(part, -0) ? '-0' : `${part}` };
      case 'bigint':
        return { bigint: `${part}` };
      case 'object':
        if (part === null || Array.isArray(part) || Object.getPrototypeOf(part) === Object.prototype)
          return part;
        plain = false;
        return null;
      case 'function':
      case 'symbol':
        plain = false;
        return null;
      default:
        return part;
    }
  });
  return plain ? text : undefined;
}
