export type { ElementValue } from './element-types.js';
export { type ExploreOptions, explore } from './explore.js';
export type { Failure, FailureKind } from './failure.js';
export type { SequentialModel, Transition } from './linearizability.js';
export {
  deepened,
  defineModel,
  type End,
  type Expectation,
  type Model,
  type RecoveryBody,
  type Search,
  type ThreadBody,
  type UnnamedModel,
  type Verdict,
} from './model.js';
export { type FailureReport, formatReport, type Report } from './report.js';
export { type SimulatedGlobals, simulatedGlobals } from './simulated-globals.js';
export type {
  SimulatedPlatform,
  SimulatedThread,
  WaitEventOptions,
  WaitEventResult,
} from './simulated-thread.js';
export type { AbandonedSteps, DriveOptions, Step, Steps } from './step-machine.js';
export type { LayoutLike, NamedWords, PlacedLayout } from './word-names.js';
