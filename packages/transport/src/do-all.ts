/** Does it to all of them, then throws what failed first. */
export function doAll<Item>(items: Iterable<Item>, act: (item: Item) => void): void {
  const failures: unknown[] = [];
  for (const item of [...items]) {
    try {
      act(item);
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length > 0) throw failures[0];
}
