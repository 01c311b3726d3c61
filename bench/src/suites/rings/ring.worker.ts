import { linkWorkloads } from '../messages/link-workloads.js';
import { ringKinds } from './ring-kinds.js';

export const { oneWay, answer, pour, drain } = linkWorkloads(ringKinds);
