import type { Target, ThreadVariant } from '../../core/suite.js';
import type { LinkKind, LinkParameters } from './link.js';

/** Two threads over a link: which drives, and which serves. */
export type Pattern = 'oneWay' | 'roundTrip' | 'pour';

/** Makes variants that run over kinds of links, in the threads of a worker file made by `linkWorkloads`. */
export function linkedVariants<Kind extends string>(module: URL, kinds: Readonly<Record<Kind, LinkKind>>) {
  return (
    name: string,
    kind: Kind,
    pattern: Pattern,
    given: LinkParameters,
    ...targets: readonly Target[]
  ): ThreadVariant => {
    const parameters = { kind, ...given };
    return {
      name,
      module,
      threads: [
        { workload: pattern, parameters },
        { workload: pattern === 'pour' ? 'drain' : 'answer', parameters },
      ],
      bytesPerOperation: given.messageBytes,
      polls: true,
      targets,
      prepare: () => kinds[kind].create(given),
    };
  };
}
