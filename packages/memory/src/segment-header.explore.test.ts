import { exploreTests } from '@heddle/explore/vitest';
import models from './segment-header.explore.js';

exploreTests(models);
