import { linkWorkloads } from '../messages/link-workloads.js';
import { messageKinds } from './message-kinds.js';

export const { oneWay, roundTrip, answer, pour, drain } = linkWorkloads(messageKinds);
