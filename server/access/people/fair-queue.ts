/** The groups that an item belongs to, the widest first, such as the /48, the /56 and the /64 of an address. */
export type GroupPath = readonly [string, ...string[]]

/** Items that wait. At each level the groups take turns, however many items or smaller groups each of them has. */
export interface FairQueue<Item> {
  size(): number
  add(groups: GroupPath, item: Item): void
  /** Takes the next item; undefined when none waits. */
  take(): Item | undefined
  /** Takes the newest item of the group that has the most, and within it of the smaller group that has the most. */
  takeFromLargest(): Item | undefined
  /** Removes an item that may have been taken. */
  remove(groups: GroupPath, item: Item): void
}

/** A group has either smaller groups or items. None but the outermost is empty. */
interface QueueGroup<Item> {
  size: number
  /** In the order of their turns. */
  groups: Map<string, QueueGroup<Item>>
  items: Item[]
}

const emptyGroup = <Item>(): QueueGroup<Item> => ({ size: 0, groups: new Map(), items: [] })

/** All groups of one item must be equally deep: use names of different lengths where they are not. */
export function createFairQueue<Item>(): FairQueue<Item> {
  const all = emptyGroup<Item>()

  return {
    size: () => all.size,
    add: (groups, item) => enqueue(all, groups, item),
    take: () => take(all),
    takeFromLargest: () => takeFromLargest(all),
    remove: (groups, item) => void remove(all, groups, item),
  }
}

function enqueue<Item>(group: QueueGroup<Item>, [name, ...inner]: readonly string[], item: Item): void {
  group.size++
  if (name === undefined) return void group.items.push(item)
  const next = group.groups.get(name) ?? emptyGroup<Item>()
  group.groups.set(name, next)
  enqueue(next, inner, item)
}

function take<Item>(group: QueueGroup<Item>): Item | undefined {
  if (group.size === 0) return undefined
  group.size--
  for (const [name, next] of group.groups) {
    const item = take(next)
    // Deleted and set anew, so that its next turn comes after those of the others.
    group.groups.delete(name)
    if (next.size > 0) group.groups.set(name, next)
    return item
  }
  return group.items.shift()
}

function takeFromLargest<Item>(group: QueueGroup<Item>): Item | undefined {
  if (group.size === 0) return undefined
  group.size--
  if (group.groups.size === 0) return group.items.pop()
  const [name, largest] = [...group.groups].reduce((a, b) => (b[1].size >= a[1].size ? b : a))
  const item = takeFromLargest(largest)
  if (largest.size === 0) group.groups.delete(name)
  return item
}

/** Returns whether the item was there. */
function remove<Item>(group: QueueGroup<Item>, [name, ...inner]: readonly string[], item: Item): boolean {
  const next = name === undefined ? undefined : group.groups.get(name)
  const at = group.items.indexOf(item)
  const isRemoved = next ? remove(next, inner, item) : group.items.splice(at, at < 0 ? 0 : 1).length > 0
  if (isRemoved) group.size--
  if (name !== undefined && next?.size === 0) group.groups.delete(name)
  return isRemoved
}
